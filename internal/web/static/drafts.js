// Keeps what is typed into a form and not sent in the browser's storage. When the
// person comes back, it is in the form again, or is offered.
//
// data-draft on a form names its user, by a hash, and the form or the submission that
// it changes. Anonymous forms have none. data-typed says that the page already shows
// what was typed, as after an error. session.js removes drafts that were sent, and all
// of them at the sign-out. Storage may be missing in frames: then nothing is kept.

import { announce, call, create, find } from "./dom.js";

const prefix = "formulary.draft "; // session.js has the same
const pause = 400; // milliseconds without typing, after which a draft is stored
const longest = 100_000; // characters of one draft
const most = 20; // drafts
const lifetime = 30 * 24 * 3600 * 1000; // milliseconds
const signedOut = "formulary.signedOut"; // session.js sets it

const drafts = new WeakMap(); // by form
const waiting = new Set(); // drafts with changes that are not stored yet
const signedOutBefore = access((store) => store.getItem(signedOut));

document.addEventListener("input", onChange);
document.addEventListener("change", onChange);
document.addEventListener("submit", onSubmit);
window.addEventListener("pagehide", storeAll);
document.addEventListener("visibilitychange", storeAll);

/** Restores the drafts of the forms that the page contains now. */
export function attachDrafts() {
  access(removeOld);
  for (const form of document.querySelectorAll("form[data-draft]")) {
    const key = prefix + call(form, "getAttribute", "data-draft");
    const questions = find(form, "[data-field]");
    const shown = new Map(questions.map((question) => [question, read(question)]));
    const tag = find(form, 'input[name="_tag"]')[0]?.value; // of the submission that is changed
    const before = access((store) => JSON.parse(store.getItem(key)));
    const draft = { form, key, tag, questions, shown, kept: before?.values ?? {}, restored: true };
    drafts.set(form, draft);
    if (call(form, "hasAttribute", "data-typed") || !differs(draft)) {
      continue;
    }
    if (location.search || before.tag !== tag) { // the address, or somebody else, has filled in something, too
      draft.restored = false;
      tell(draft, "You typed something here earlier that was not sent.", ["Restore", restore], ["Discard", discard]);
    } else {
      restore(draft);
    }
  }
}

/** Whether the draft has something that the form does not show. */
function differs({ questions, kept }) {
  return questions.some((question) => has(kept, question) && !same(read(question), kept[question.dataset.field]));
}

const has = (values, { dataset }) => Object.hasOwn(values, dataset.field) && Array.isArray(values[dataset.field]);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Fills in the draft, except where something else was typed meanwhile. */
function restore(draft) {
  draft.restored = true;
  for (const question of draft.questions) {
    if (has(draft.kept, question) && same(read(question), draft.shown.get(question))) {
      write(question, draft.kept[question.dataset.field]);
    }
  }
  tell(draft, "What you typed here earlier is back. It was not sent yet.", ["Discard", discard]);
}

/** Brings back the form as the server has sent it. */
function discard(draft) {
  draft.questions.forEach((question) => write(question, draft.shown.get(question)));
  draft.kept = {};
  waiting.delete(draft);
  access((store) => store.removeItem(draft.key));
  tell(draft, "");
}

/** Shows a text above the form, with buttons. */
function tell(draft, text, ...buttons) {
  draft.note?.remove();
  if (text) {
    draft.note = create("div", { class: "note draft" });
    draft.note.append(create("p", {}, text));
    for (const [name, act] of buttons) {
      const button = create("button", { type: "button", class: "secondary" }, name);
      button.addEventListener("click", () => {
        act(draft);
        const all = find(draft.form, "input, select, textarea");
        all[0].dispatchEvent(new Event("change", { bubbles: true })); // form.js shows and hides questions
        all.find(({ type, disabled }) => type !== "hidden" && !disabled)?.focus();
      });
      draft.note.append(button);
    }
    call(draft.form, "before", draft.note);
  }
  announce(text);
}

/** The controls of a question that have answers. Files can't be kept. */
const controls = (question) =>
  find(question, "input, select, textarea").filter(({ name, type }) => name === question.dataset.field && type !== "file");
const isChoice = ({ type }) => type === "checkbox" || type === "radio";

function read(question) {
  return controls(question).filter((control) => !isChoice(control) || control.checked).map(({ value }) => value);
}

function write(question, values) {
  for (const control of controls(question)) {
    if (isChoice(control)) {
      control.checked = values.includes(control.value);
    } else if (!control.options || [...control.options].some(({ value }) => value === values[0])) {
      control.value = values[0] ?? "";
    }
  }
}

function onChange({ target }) {
  const draft = drafts.get(target.form);
  if (draft && !waiting.has(draft)) {
    waiting.add(draft);
    setTimeout(() => store(draft), pause);
  }
}

function onSubmit({ target }) {
  const draft = drafts.get(target);
  if (draft) {
    store(draft);
    access(() => sessionStorage.setItem("formulary.sent", draft.key));
  }
}

function storeAll() {
  [...waiting].forEach(store);
}

function store(draft) {
  if (!waiting.delete(draft)) {
    return;
  }
  const values = { ...draft.kept };
  for (const question of draft.questions) {
    const typed = read(question);
    if ((draft.restored && has(values, question)) || !same(typed, draft.shown.get(question))) {
      values[question.dataset.field] = typed;
    }
  }
  const text = JSON.stringify({ time: Date.now(), tag: draft.tag, values });
  access((store) => {
    if (store.getItem(signedOut) !== signedOutBefore) {
      return; // somebody has signed out in another tab
    }
    if (Object.keys(values).length === 0) {
      store.removeItem(draft.key);
    } else if (text.length <= longest) {
      store.setItem(draft.key, text);
      removeOld(store);
    }
  });
}

/** Removes drafts that are older than their lifetime, and the oldest of too many. */
function removeOld(store) {
  const all = Object.keys(store).filter((key) => key.startsWith(prefix)).map((key) => ({ key, time: timeOf(store.getItem(key)) }));
  all.sort((a, b) => b.time - a.time);
  for (const [i, { key, time }] of all.entries()) {
    if (i >= most || !(Date.now() - time < lifetime)) {
      store.removeItem(key);
    }
  }
}

function timeOf(text) {
  try {
    return Number(JSON.parse(text).time) || 0;
  } catch {
    return 0;
  }
}

/** Does something with the storage. A browser may refuse it, or have no room left. */
function access(act) {
  try {
    return act(window.localStorage);
  } catch {
    return undefined;
  }
}
