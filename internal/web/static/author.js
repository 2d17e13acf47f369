// Shows a form while it is written. Without this script, buttons do it.
// drafts.js keeps the text, and what undo.js takes back.

import { keepAnswers } from "./answers.js";
import { announce, create } from "./dom.js";
import { noteSending } from "./drafts.js";
import { attach } from "./form.js";
import { addChoice, placeOf, prepareChoices, press, refocus, takeWords } from "./questions.js";
import { t } from "./text.js";
import { newHistory } from "./undo.js";

// Milliseconds without typing before the form is shown again. A form of a page is compared with its submissions, too.
const pause = document.querySelector("[name=_tag]") ? 1000 : 300;
const parts = ["tabs", "questions", "problems", "preview", "copy", "json", "bar"]; // ids

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
/** @type {HTMLTextAreaElement & { form: HTMLFormElement }} */
const text = byId("text");
const gutter = /** @type {HTMLElement} */ (document.querySelector("[data-gutter]"));
const failure = /** @type {HTMLElement} */ (document.querySelector("[data-failure]"));
const typed = /** @type {HTMLInputElement} */ (document.querySelector("input[name=_typed]"));
const served = new Map(parts.map((id) => [id, byId(id).outerHTML])); // by id of a part: its HTML as the server sent it

let shown = text.defaultValue; // the text whose form is shown
let [untouched, noted] = ["", ""]; // what its controls had at first; what this script has put into the control "typed"
const isOfQuestions = (name) => /^[fq](-|$)|^_(view|edit|people)$/.test(name);
let timer;
let request = new AbortController();
/** @type {{ button: HTMLButtonElement | null } | null} */
let work = null; // what the server is doing for a button
let pointerDown = false;
let signedOut = false;
const steps = newHistory(/** @type {any} */ (document.querySelector("input[name=_steps]")), text);

text.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, pause);
  steps.note(t("Change of the text"));
  numberLines();
});
text.addEventListener("scroll", scrollGutter);
text.form.addEventListener("change", onChange);
text.form.addEventListener("input", ({ target }) => /** @type {HTMLElement} */ (target).closest("#questions") && noteTyped());
text.form.addEventListener("formdata", ({ formData }) => replaceTyped(formData));
text.form.addEventListener("submit", onSubmit);
document.addEventListener("click", onClick);
for (const event of ["pointerdown", "pointerup", "pointercancel"]) {
  document.addEventListener(event, () => (pointerDown = event === "pointerdown"), true);
}
addEventListener("pageshow", followText); // the browser has put back what was typed, perhaps
prepareChoices();
prepare();
steps.settle();

/** A change of the text by drafts.js is told by a hidden control. */
function onChange({ target }) {
  if (target.type === "hidden") {
    steps.settle();
    followText();
  } else if (target.matches("[data-apply]")) {
    target.focus({ preventScroll: true }); // it keeps the focus
    press("apply");
  } else if (target.closest("#questions")) {
    applyQuietly();
  }
}

function followText() {
  numberLines();
  update();
}

/** What the controls of the questions have, as JSON. */
function controls() {
  return JSON.stringify([...new FormData(text.form)].filter(([name]) => isOfQuestions(name)));
}

/** The draft has changed the text, or what is typed into the questions, and its answer is not there yet. */
function isStale() {
  return text.value !== shown || typed.value !== noted;
}

/** Has the draft hold what is typed into the questions, and not in the text yet. A long list is left out: home looks for the rest. */
function noteTyped() {
  if (!isStale()) {
    const now = controls();
    const most = now.length < 30_000 ? now : "[]";
    const next = now !== untouched || byId("bar").matches("[data-unsaved]") ? most : "";
    if (next !== noted) {
      typed.value = noted = next;
      typed.dispatchEvent(new Event("input", { bubbles: true })); // for drafts.js
    }
  }
}

/** The questions that are shown may be those of another text. Then what a draft has is sent in place of their controls. */
function replaceTyped(data) {
  data.delete("_typed");
  if (isStale()) {
    [...data.keys()].filter(isOfQuestions).forEach((name) => data.delete(name));
    if (typed.value !== noted) {
      JSON.parse(typed.value || "[]").forEach(([name, value]) => data.append(name, value));
    }
  }
}

function prepare() {
  if (!isStale() && !byId("questions").querySelector(".invalid")) { // what was refused is not in the text
    untouched = controls();
  }
  attach();
  document.querySelectorAll("[data-copy]").forEach((copy) => copy.removeAttribute("hidden"));
  offerUndo();
  noteTyped();
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

/** Sends the text. Returns the answer if it is the same page. */
async function ask(button) {
  request.abort();
  request = new AbortController();
  const { signal } = request;
  const data = new FormData(text.form, button);
  try {
    const response = await fetch(text.form.action, { method: "POST", body: data, signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (page.getElementById("problems")) {
      return page;
    }
    signedOut = page.getElementById("password") !== null;
    fail(signedOut ? t("You are not signed in any more. Press any button to sign in: the text stays.") : page.querySelector("main p")?.textContent);
  } catch {
    if (!signal.aborted) {
      fail(t("The server did not answer."));
    }
  }
}

/** Shows the form of the text. */
async function update() {
  if (!isStale()) {
    return;
  }
  const [sent, sentTyped] = [text.value, typed.value];
  byId("questions").inert = true; // what is typed there now would be lost
  const page = await ask(null);
  if (page) {
    [shown, noted] = [sent, sentTyped];
    if (sentTyped) {
      take(page);
      page.querySelector("[data-notice]")?.remove(); // nothing was pressed
    }
    show(page);
  }
}

/** A second press, before the answer to the first one, would mean a question that has moved meanwhile. */
const busy = () => work !== null && work.button?.value !== "apply";

/** Has the server do what a button says. */
async function onSubmit(event) {
  const button = event.submitter;
  if (signedOut || button?.name === "_update" || button?.matches("[data-whole]")) {
    noteSending(text.form);
    return; // the browser shows the answer
  }
  event.preventDefault();
  if (busy() || (button?.value === "choice" && addChoice())) {
    return;
  }
  const [mine, place] = [{ button }, placeOf(button)];
  work = mine;
  const page = await ask(button);
  if (work !== mine) {
    return;
  }
  work = null;
  if (page) {
    take(page);
    show(page);
    refocus(place);
    announce(byId("questions").querySelector("[data-notice] p")?.textContent ?? "");
  }
}

/** Takes over the text of an answer. */
function take(page) {
  steps.settle();
  text.value = shown = page.getElementById("text").value;
  steps.note(page.getElementById("questions").dataset.step ?? t("Change of the text"));
  steps.settle();
  numberLines();
  noted = typed.value;
}

/** Has the text follow what is typed into a question, so that it is in the draft. What is being pressed must not change. */
async function applyQuietly() {
  if (pointerDown) {
    setTimeout(applyQuietly, pause);
    return;
  }
  const page = work ? null : await ask(null);
  if (page && !work && !pointerDown) {
    take(page);
    takeWords(page);
    byId("bar").replaceWith(page.getElementById("bar"));
    noteTyped();
    served.delete("bar");
    offerUndo();
  }
}

async function undo() {
  const mine = { button: null };
  work = mine;
  const { what, redo } = steps.undo();
  const page = await ask(null);
  if (!page) {
    redo();
  }
  if (work === mine) {
    work = null;
  }
  if (page) {
    shown = text.value;
    show(page);
    announce(t("Undone: {0}", what));
  }
}

/** Puts the button for the last step into the bar, and beside a notice. */
function offerUndo() {
  const what = steps.last();
  byId("bar").querySelector("[data-undo]")?.remove();
  if (what) {
    const button = create("button", { type: "button", class: "secondary", "data-undo": "" });
    button.append(create("span", {}, t("Undo: {0}", what)));
    byId("bar").prepend(button);
  }
  const notice = byId("questions").querySelector("[data-notice]");
  const isLast = what && what === byId("questions").dataset.step;
  const beside = notice?.querySelector("[data-undo]");
  if (isLast && !beside) {
    notice?.append(create("button", { type: "button", class: "quiet", "data-undo": "" }, t("Undo")));
  }
  beside?.style.setProperty("visibility", isLast ? "visible" : "hidden"); // nothing moves
}

function fail(message) {
  failure.textContent = message;
  failure.hidden = false;
  failure.scrollIntoView({ block: "nearest" });
  announce(message);
}

function show(page) {
  failure.hidden = true;
  byId("asked")?.remove(); // it was about the text before
  const count = byId("problems-title").textContent;
  const focused = document.activeElement?.id ?? "";
  byId("author").dataset.tab = page.getElementById("author").dataset.tab;
  for (const id of parts) {
    const next = page.getElementById(id);
    const html = next.outerHTML;
    if (served.get(id) !== html || id === "questions") {
      served.set(id, html);
      replace(byId(id), next);
    }
  }
  prepareChoices();
  prepare();
  if (document.activeElement === document.body) {
    byId(focused)?.focus();
  }
  const title = byId("problems-title").textContent;
  if (title !== count && byId("author").dataset.tab === "text") {
    announce(title);
  }
}

function replace(old, next) {
  const stale = old.querySelector("[data-stale]");
  if (stale && !next.hidden && !next.querySelector("[data-stale]")) {
    stale.hidden = false; // the last good form stays
    return;
  }
  for (const details of next.querySelectorAll("details[id]")) {
    details.open ||= byId(details.id)?.open;
  }
  if (old.id === "preview") {
    keepAnswers(old, next); // what was typed into the form to try it
  }
  old.replaceWith(next);
}

function onClick(event) {
  const [link, copy, back, fault] = ["[data-line]", "[data-copy]", "[data-undo]", "[data-error-summary] a"].map((selector) => event.target.closest(selector));
  if (link) {
    event.preventDefault();
    selectLine(Number(link.dataset.line));
  } else if (copy) {
    copyBlock(copy, byId(copy.dataset.copy));
  } else if (back && !busy()) {
    undo();
  } else {
    byId(fault?.hash.slice(1))?.querySelector('[value^="open:"]')?.click(); // of a folded card
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
