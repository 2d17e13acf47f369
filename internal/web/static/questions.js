// The questions of a form that is written: what their controls do before a button is pressed, and where the focus goes
// after it. Without this script all of it works by buttons.

import { call, create } from "./dom.js";
import { t } from "./text.js";

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const choiceOf = (target) => target.closest?.("[data-choice]");

/** Presses the button of the questions with this value. */
export const press = (value) => byId("questions").querySelector(`[name="_do"][value="${value}"]`)?.click();

document.addEventListener("keypress", (event) => {
  const row = event.key === "Enter" && /** @type {HTMLElement} */ (event.target).matches?.("[name=q-choice]") && choiceOf(event.target);
  if (row) {
    event.preventDefault();
    labelOf(nextChoice(row)).focus();
  }
});

/** Lines that are pasted into a choice become choices. */
document.addEventListener("paste", (event) => {
  const lines = event.clipboardData?.getData("text").trim() ?? "";
  if (/** @type {HTMLElement} */ (event.target).matches?.("[name=q-choice]") && /[\n\t]/.test(lines)) {
    event.preventDefault();
    byId("q-several").value = lines;
    press("several");
  }
});

document.addEventListener("click", ({ target }) => {
  if (call(target, "closest", "[data-edit]")) {
    call(target, "closest", ".card").querySelector('[value^="open:"]')?.click();
  }
});

/** What was unfolded is seen as a whole, above the bar. */
document.addEventListener("toggle", ({ target }) => {
  const details = /** @type {HTMLDetailsElement} */ (target);
  if (details.open && details.contains(document.activeElement) && details.closest("#questions")) {
    details.scrollIntoView({ block: "nearest" });
  }
}, true);

/** "Add a choice" needs no server. The empty choice at the end, which is there without this script, is not needed. */
export function prepareChoices() {
  const rows = [...document.querySelectorAll("[data-choice]")];
  if (rows.length > 1 && labelOf(rows.at(-1)).value === "") {
    rows.at(-1)?.remove();
  }
}

/** Adds a choice, where there is one to go on from. */
export function addChoice() {
  const last = [...document.querySelectorAll("[data-choice]")].at(-1);
  if (last) {
    labelOf(labelOf(last).value === "" ? last : nextChoice(last)).focus();
  }
  return last !== undefined;
}

const labelOf = (row) => row.querySelector("[name=q-choice]");

/** The row of the next choice, which is added if this is the last one. */
function nextChoice(row) {
  const number = [...row.parentElement.children].indexOf(row) + 1;
  const next = row.nextElementSibling ?? row.parentElement.appendChild(row.cloneNode(true));
  const [value, label] = next.querySelectorAll("input");
  if (label.id !== `q-choice-${number}`) {
    [value.value, label.value, label.id] = ["", "", `q-choice-${number}`];
    label.setAttribute("aria-label", t("Choice {0}", number + 1));
    const remove = next.querySelector("button");
    remove.value = `unchoice:${number}`;
    remove.replaceChildren(t("Remove"), create("span", { class: "visually-hidden" }, ` ${t("Choice {0}", number + 1)}`));
  }
  return next;
}

/** Takes over the names of questions, and the values that new choices have now. Controls stay. */
export function takeWords(page) {
  const words = (part) => [...part.querySelectorAll("#questions :is(bdi, .facts > span)")];
  const next = words(page);
  if (next.length === words(document).length) {
    words(document).forEach((old, i) => old.replaceChildren(...next[i].childNodes));
  }
  const rows = (part) => [...part.querySelectorAll("[data-choice]")].map((row) => row.querySelectorAll("input"));
  const values = new Map(rows(page).map(([value, label]) => [label.value.trim(), value.value]));
  for (const [value, label] of rows(document)) {
    value.value ||= values.get(label.value.trim()) ?? "";
  }
}

/** What stays where it is in the window. A notice above it comes and goes. */
const headOf = (card) => card?.querySelector(".card-head");

/** What was pressed, where it was in the window, and the control that has the focus. */
export function placeOf(button) {
  const value = button?.value ?? "";
  const used = /^(apply)?$/.test(value) ? document.activeElement : null;
  const fixed = used ?? headOf(button?.closest(".card, .adder")) ?? button;
  return { verb: value.split(":")[0], value, control: used?.id, inside: button?.closest(".edit"), top: fixed?.getBoundingClientRect().top };
}

/** Gives the focus to what follows a pressed button, and leaves it where it was in the window. */
export function refocus({ verb, value, control, inside, top }) {
  const { focus, at } = byId("questions").dataset;
  const card = byId(at);
  const same = byId("tabs").querySelector(`[value="${value}"]`) ?? card?.querySelector(`[value^="${verb}:"]:enabled`);
  const used = control && byId(control);
  const target = [
    used,
    byId(focus),
    /^(open|add)$/.test(verb) && (card?.querySelector(".edit .error")?.parentElement ?? card?.querySelector(".edit"))?.querySelector("input:not([type=hidden]), select"),
    same,
    card?.querySelector('.card-actions :enabled:not([value="done"])'),
    byId("questions").querySelector("[data-notice]"),
  ].find(Boolean);
  target?.focus({ preventScroll: true });
  const fixed = used || headOf(card) || same;
  if (fixed && top) {
    scrollBy(0, fixed.getBoundingClientRect().top - top);
  }
  if (target !== used && !inside) {
    (target?.closest(".card") ?? target)?.scrollIntoView({ block: "nearest" });
  }
  target?.scrollIntoView({ block: "nearest" });
}
