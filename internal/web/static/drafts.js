// Keeps what is typed into a form and not sent in the browser's storage. When the
// person comes back, it is in the form again, or is offered.
//
// data-draft on a form names its user, by a hash, and the form or the submission that
// it changes. Anonymous forms have none. data-typed says that the page already shows
// what was typed, as after an error. session.js removes drafts that were sent, and all
// of them at the sign-out.
//
// A draft keeps the idempotency key of its form. So what the server has stored, but
// could not answer, is stored once when it is sent again.

import { announce, call, create, find } from "./dom.js";
import { access, draftNames, draftPrefix, forgetSent, signedOut } from "./storage.js";
import { t } from "./text.js";

const pause = 400; // milliseconds without typing, after which a draft is stored
const longest = 100_000; // characters of one draft
const most = 20; // drafts
const lifetime = 30 * 24 * 3600 * 1000; // milliseconds

const drafts = new WeakMap(); // by form
const waiting = new Set(); // drafts with changes that are not stored yet
const signedOutBefore = access((store) => store.getItem(signedOut));

document.addEventListener("input", onChange);
document.addEventListener("change", onChange);
window.addEventListener("pagehide", storeAll);
document.addEventListener("visibilitychange", storeAll);

/** The query of the address, without the language, which fills in nothing. */
const query = () => location.search.replace(/(?<=[?&])lang=[^&]*&?/g, "").replace(/[?&]$/, "");

/** Restores the drafts of the forms that the page contains now. */
export function attachDrafts() {
  storeAll(); // those of forms that were replaced
  forgetSent(); // a page may show again what was saved
  access(removeOld);
  for (const form of document.querySelectorAll("form[data-draft]")) {
    if (!drafts.has(form)) {
      attachDraft(form);
    }
  }
}

function attachDraft(form) {
  const name = `${draftPrefix} ${call(form, "getAttribute", "data-draft")}`;
  const questions = find(form, "[data-field]:not(:disabled *)"); // without questions that are only shown
  const shown = new Map(questions.map((question) => [question, read(question)]));
  const tag = find(form, 'input[name="_tag"]')[0]?.value; // of the submission that is changed
  const keyInput = find(form, 'input[name="_key"]')[0]; // where a new submission is made
  const kept = { values: {}, files: [], ...access((store) => JSON.parse(store.getItem(name))) };
  rename(questions, kept.values);
  const draft = { form, name, tag, keyInput, shownKey: keyInput?.value, questions, shown, kept, restored: true };
  drafts.set(form, draft);
  if (call(form, "hasAttribute", "data-typed")) {
    if (kept.sent) {
      store(draft); // the server has answered
    }
  } else if (!differs(draft)) {
    useKey(draft, kept.key);
  } else if ((query() && query() !== kept.search) || kept.tag !== tag) {
    draft.restored = false; // the address, or somebody else, has filled in something, too
    const changed = kept.tag === tag ? "" : ` ${t("It was changed elsewhere since.")}`;
    const earlier = t("You typed something here earlier.");
    tell(draft, `${earlier}${changed}${fate(draft)}`, [t("Restore"), restore], [t("Discard"), discard]);
  } else {
    restore(draft);
  }
}

/** Moves answers to the names that questions and options have now. */
function rename(questions, values) {
  for (const { dataset } of questions.filter((question) => question.dataset.was)) {
    const { ids, values: options } = JSON.parse(dataset.was);
    const id = [dataset.field, ...ids].find((name) => Object.hasOwn(values, name));
    if (id !== undefined) {
      const renamed = (value) => (Object.hasOwn(options, value) ? options[value] : value);
      values[dataset.field] = [values[id]].flat().map(renamed);
    }
    ids.forEach((old) => delete values[old]);
  }
}

/** Has the form sent with the key of a draft. */
function useKey({ keyInput }, key) {
  if (keyInput && key) {
    keyInput.value = key;
  }
}

/** What has become of a draft. */
function fate({ form, kept }) {
  if (!call(form, "hasAttribute", "data-form")) {
    return ""; // it is never sent
  }
  const unconfirmed = t("You have sent it, but it was not confirmed. Send it again: it is stored once.");
  return ` ${kept.sent ? unconfirmed : t("It was not sent yet.")}`;
}

/** Whether the draft has something that the form does not show. What Undo takes back goes with the text. */
function differs({ questions, kept: { values } }) {
  return questions.some((question) => question.dataset.field !== "_steps" && has(values, question) && !same(read(question), values[question.dataset.field]));
}

const has = (values, { dataset }) => Object.hasOwn(values, dataset.field) && Array.isArray(values[dataset.field]);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Fills in the draft. Of a form that is sent, questions stay that something else was typed into meanwhile. */
function restore(draft) {
  const { questions, shown, kept } = draft;
  draft.restored = true;
  useKey(draft, kept.key);
  for (const question of questions) {
    if (has(kept.values, question) && (!call(draft.form, "hasAttribute", "data-form") || same(read(question), shown.get(question)))) {
      write(question, kept.values[question.dataset.field]);
    }
  }
  const chosen = chosenFiles(draft);
  const missing = kept.files.filter((name) => !chosen.includes(name)).map((name) => t("“{0}”", name));
  const files = missing.length > 0 ? ` ${t("Files are not kept: choose {0} again.", missing.join(t(", ")))}` : "";
  tell(draft, `${t("What you typed here earlier is back.")}${fate(draft)}${files}`, [t("Discard"), discard]);
}

/** Brings back the form as the server has sent it. */
function discard(draft) {
  draft.questions.forEach((question) => write(question, draft.shown.get(question)));
  draft.kept = { values: {}, files: [] };
  draft.restored = true;
  useKey(draft, draft.shownKey);
  waiting.delete(draft);
  access((store) => store.removeItem(draft.name));
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

function chosenFiles({ form }) {
  return find(form, 'input[type="file"]').flatMap(({ files }) => Array.from(files, ({ name }) => name));
}

function onChange({ target }) {
  const draft = drafts.get(target.form);
  if (draft && !waiting.has(draft)) {
    waiting.add(draft);
    setTimeout(() => waiting.has(draft) && store(draft), pause);
  }
}

/** Notes that a form is being sent. Its draft stays until the server has answered. */
export function noteSending(form) {
  const draft = drafts.get(form);
  if (draft) {
    store(draft, true);
    access(() => sessionStorage.setItem("formulary.sent", draft.name));
  }
}

function storeAll() {
  waiting.forEach((draft) => store(draft));
}

function store(draft, sent = false) {
  waiting.delete(draft);
  const values = { ...draft.kept.values };
  for (const question of draft.questions) {
    const typed = read(question);
    if ((draft.restored && has(values, question)) || !same(typed, draft.shown.get(question))) {
      values[question.dataset.field] = typed;
    }
  }
  const chosen = chosenFiles(draft);
  const files = chosen.length > 0 ? chosen : draft.kept.files;
  const origin = draft.restored || sent ? { key: draft.keyInput?.value, search: query(), sent } : draft.kept;
  const text = JSON.stringify({ ...origin, time: Date.now(), tag: draft.tag, files, values });
  access((store) => {
    if (store.getItem(signedOut) !== signedOutBefore) {
      return; // somebody has signed out in another tab
    }
    if (Object.keys(values).length === 0) {
      store.removeItem(draft.name);
    } else if (text.length <= longest) {
      store.setItem(draft.name, text);
      removeOld(store);
    }
  });
}

/** Removes drafts that are older than their lifetime, and the oldest of too many. */
function removeOld(store) {
  const all = draftNames(store).map((name) => ({ name, time: timeOf(store.getItem(name)) }));
  all.sort((a, b) => b.time - a.time);
  for (const [i, { name, time }] of all.entries()) {
    if (i >= most || !(Date.now() - time < lifetime)) {
      store.removeItem(name);
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
