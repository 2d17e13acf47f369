// Shows a form while its text is written. Without this script, a button does it.
// drafts.js keeps the text.

import { keepAnswers } from "./answers.js";
import { announce, create } from "./dom.js";
import { attach } from "./form.js";
import { t } from "./text.js";

// Milliseconds without typing before the form is shown again. A form of a page is compared with its submissions, too.
const pause = document.querySelector("[name=_tag]") ? 1000 : 300;
const parts = ["problems", "preview", "copy", "json"]; // ids

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
/** @type {HTMLTextAreaElement & { form: HTMLFormElement }} */
const text = byId("text");
const gutter = /** @type {HTMLElement} */ (document.querySelector("[data-gutter]"));
const failure = /** @type {HTMLElement} */ (document.querySelector("[data-failure]"));
const served = new Map(); // by id of a part: its HTML as the server sent it

let shown = text.defaultValue; // the text whose form is shown
let timer;
let request = new AbortController();

text.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, pause);
  numberLines();
});
text.addEventListener("scroll", scrollGutter);
text.form.addEventListener("change", followText); // drafts.js has put back or discarded what was typed
document.addEventListener("click", onClick);
addEventListener("pageshow", followText); // so has the browser, perhaps
prepare();

function followText() {
  numberLines();
  update();
}

function prepare() {
  attach();
  document.querySelectorAll("[data-copy]").forEach((copy) => copy.removeAttribute("hidden"));
}

/** The gutter wraps the same lines at the same width, so that each number stands beside its line. */
function numberLines() {
  const lines = text.value.split("\n");
  for (const [i, line] of lines.entries()) {
    const row = gutter.children[i] ?? gutter.appendChild(create("div", {}));
    row.textContent = `${line}\n`; // an empty line has a height, too
  }
  while (gutter.children.length > lines.length) {
    gutter.lastChild?.remove();
  }
  scrollGutter();
}

function scrollGutter() {
  gutter.scrollTop = text.scrollTop;
}

async function update() {
  request.abort();
  const sent = text.value;
  if (sent === shown) {
    return;
  }
  request = new AbortController();
  const { signal } = request;
  try {
    const response = await fetch(text.form.action, { method: "POST", body: new FormData(text.form), signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (page.getElementById("password")) {
      fail(t("You are not signed in any more. Press “Show the form” to sign in: the text stays."));
    } else if (!page.getElementById("problems")) {
      fail(page.querySelector("main p")?.textContent);
    } else {
      shown = sent;
      show(page);
    }
  } catch {
    if (!signal.aborted) {
      fail(t("The server did not answer."));
    }
  }
}

function fail(message) {
  failure.textContent = message;
  failure.hidden = false;
  announce(message);
}

function show(page) {
  failure.hidden = true;
  const count = byId("problems-title").textContent;
  const focused = document.activeElement?.id ?? "";
  for (const id of parts) {
    const next = page.getElementById(id);
    const html = next.outerHTML;
    if (served.get(id) !== html) {
      served.set(id, html);
      replace(byId(id), next);
    }
  }
  prepare();
  if (document.activeElement === document.body) {
    byId(focused)?.focus();
  }
  const title = byId("problems-title").textContent;
  if (title !== count) {
    announce(title);
  }
}

function replace(old, next) {
  const stale = old.querySelector("[data-stale]");
  if (stale && !next.querySelector("[data-stale]")) {
    stale.hidden = false; // the last good form stays
    return;
  }
  for (const details of next.querySelectorAll("details")) {
    details.open = byId(details.id)?.open;
  }
  keepAnswers(old, next); // what was typed into the form to try it
  old.replaceWith(next);
}

function onClick(event) {
  const [link, copy] = ["[data-line]", "[data-copy]"].map((selector) => event.target.closest(selector));
  if (link) {
    event.preventDefault();
    selectLine(Number(link.dataset.line));
  } else if (copy) {
    copyBlock(copy, byId(copy.dataset.copy));
  }
}

function selectLine(number) {
  const before = text.value.split("\n", number);
  const end = before.join("\n").length;
  text.focus();
  text.setSelectionRange(end - (before.at(-1) ?? "").length, end);
  text.scrollTop = /** @type {HTMLElement} */ (gutter.children[number - 1]).offsetTop - text.clientHeight / 3;
}

async function copyBlock(copy, block) {
  try {
    await navigator.clipboard.writeText(block.value);
  } catch {
    block.closest("details").open = true; // without TLS, only what is selected can be copied
    block.select();
    document.execCommand("copy");
  }
  copy.firstChild.data = t("Copied");
  announce(t("Copied"));
}
