// Shows and hides the questions of a form while it is filled in, leads from the
// error summary to the questions, and sends a form once. Without this script the
// form works, too: the server decides what shows, and the form's key makes a
// second sending harmless.
//
// data-stored on an element with data-field holds the names of the files that
// the submission has and keeps, as its value in the API. A box beside each file removes it.

import { tidy, visibility } from "./conditions.js";
import { announce, call, find } from "./dom.js";
import { attachDrafts, noteSending } from "./drafts.js";
import { addFiles, checkFiles, showFiles, storedNames } from "./files.js";
import { t, tn } from "./text.js";
import { showTimes } from "./times.js";
import { upload } from "./upload.js";

const separator = ";";
const fileInputs = 'input[type="file"]';
const labelsNamed = 3; // in one announcement: more would take too long to listen to
const longestWait = 30_000; // milliseconds

const updates = new WeakMap(); // by form: shows and hides its questions, and says what changed
const sending = new WeakMap(); // by form: the attempt that is under way

document.addEventListener("input", onChange);
document.addEventListener("change", onChange);
document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
document.addEventListener("translated", attach);
window.addEventListener("pageshow", onPageShow);
attach();

/** Prepares what the page contains now. Called again when its content is replaced. */
export function attach() {
  /** @type {HTMLElement | null} */ (document.querySelector("[data-error-summary]"))?.focus();
  attachDrafts();
  document.querySelectorAll(fileInputs).forEach(showFiles);
  showTimes();
  for (const form of document.querySelectorAll("form[data-conditions]")) {
    const update = updater(form);
    updates.set(form, update);
    update(); // not announced: nobody has seen the page yet
    for (const button of find(form, "[data-update]")) {
      button.hidden = true;
      button.type = "button"; // else the Enter key would press it, although it is hidden
    }
  }
}

/** The browser may have put back what was typed, or a page that was left while its form was sent. */
function onPageShow() {
  document.querySelectorAll(fileInputs).forEach(showFiles);
  for (const form of document.querySelectorAll("form[data-form]")) {
    updates.get(form)?.();
    release(form);
  }
}

function onChange({ type, target }) {
  const added = target.type === "file" && type === "input" && addFiles(target);
  if (target.type === "file" || target.name === "_remove") {
    checkFiles(target.closest("[data-field]").querySelector(fileInputs));
  }
  const text = [added, updates.get(target.form)?.()].filter(Boolean).join(" ");
  if (text) {
    announce(text);
  }
}

function updater(form) {
  const definition = JSON.parse(find(form, "script[data-definition]")[0].textContent);
  const visible = visibility(definition);
  const questions = find(form, "[data-field]");
  const sections = find(form, "[data-section]");
  const label = ({ dataset }) => definition.fields[dataset.field].label || dataset.field;
  // What counts for conditions, and is not on the form.
  const fixed = Object.entries(JSON.parse(call(form, "getAttribute", "data-fixed") ?? "{}"));
  const value = (question) => valueOf(question, definition.fields[question.dataset.field]);
  return () => {
    const { added, removed } = apply(visible, questions, value, fixed);
    for (const section of sections) {
      section.hidden = find(section, "[data-field]").every((question) => question.hidden);
    }
    return [
      added.length && tn("{0} question added: {1}.", "{0} questions added: {1}.", added.length, list(added.map(label))),
      removed.length && tn("{0} question removed: {1}.", "{0} questions removed: {1}.", removed.length, list(removed.map(label))),
    ].filter(Boolean).join(" ");
  };
}

/** Shows and hides the questions, and returns those for which that is a change. */
function apply(visible, questions, value, fixed) {
  const shown = visible(new Map([...fixed, ...questions.map((question) => [question.dataset.field, value(question)])]));
  /** @type {{ added: any[], removed: any[] }} */
  const changed = { added: [], removed: [] };
  for (const question of questions) {
    const hidden = !shown.has(question.dataset.field);
    if (question.hidden !== hidden) {
      question.hidden = hidden;
      (hidden ? changed.removed : changed.added).push(question);
    }
    // Controls that are disabled are not sent, and keep what was typed.
    for (const control of find(question, "input, select, textarea, button")) {
      control.disabled = hidden;
    }
  }
  return changed;
}

/** The value that the server would get from the controls of a question. */
function valueOf(question, { validationType }) {
  const values = [];
  for (const control of find(question, "input, select, textarea")) {
    if (control.name !== question.dataset.field) {
      continue;
    }
    if (control.type === "file") {
      values.push(...storedNames(question), ...Array.from(control.files, (file) => file.name));
    } else if (control.type !== "checkbox" && control.type !== "radio") {
      values.push(tidy(control.value, { oneLine: control.matches("input"), numeric: validationType === "numeric" }));
    } else if (control.checked) {
      values.push(control.value);
    }
  }
  // Halves of surrogate pairs become U+FFFD, as they do when a browser sends a form.
  return values.join(separator).replace(/\p{Surrogate}/gu, "\uFFFD");
}

/** For example "Reason, E-mail, Phone and 2 more". */
function list(labels) {
  const named = labels.slice(0, labelsNamed).join(t(", "));
  const more = labels.length - labelsNamed;
  return more > 0 ? tn("{1} and {0} more", "{1} and {0} more", more, named) : named;
}

/** A link of the error summary leads to a control. Its question begins with the label or legend. */
function onClick(event) {
  const link = call(event.target, "closest", "[data-error-summary] a");
  const target = link && document.getElementById(link.getAttribute("href").slice(1));
  if (!target) {
    return;
  }
  const controls = "input:not([type=hidden]), select, textarea";
  const control = target.matches(controls) ? target : (target.querySelector(controls) ?? target);
  event.preventDefault();
  (control.closest("[data-field]") ?? control).scrollIntoView();
  control.focus({ preventScroll: true });
  if (event.detail === 0) {
    passOver(control);
  }
}

/** The key that has pressed a link is still down. In the control that has the focus now it would send the form. */
function passOver(control) {
  const stop = (event) => event.key === "Enter" && event.preventDefault();
  control.addEventListener("keypress", stop);
  document.addEventListener("keyup", () => control.removeEventListener("keypress", stop), { once: true });
}

function onSubmit(event) {
  const form = event.target;
  if (!call(form, "matches", "[data-form]") || event.submitter?.name === "_update") {
    return; // or it is only shown again
  }
  if (sending.has(form)) {
    event.preventDefault();
    return;
  }
  const files = find(form, fileInputs).filter((input) => !input.disabled && input.files.length > 0);
  const refused = files.filter((input) => !checkFiles(input));
  if (refused.length > 0) {
    event.preventDefault();
    refused[0].focus();
    return;
  }
  const attempt = {};
  sending.set(form, attempt);
  noteSending(form);
  if (files.length > 0) {
    event.preventDefault();
    upload(form, event.submitter, { release: () => release(form), attach });
    disableButtons(form, true);
    return;
  }
  // A page that is kept for the back button keeps its timers, which go on when it is shown again.
  const later = (act, delay) => setTimeout(() => sending.get(form) === attempt && act(), delay);
  later(() => disableButtons(form, true)); // a disabled button's name and value would not be sent
  later(() => release(form), longestWait); // no event tells that the person stopped the request
}

function release(form) {
  sending.delete(form);
  disableButtons(form, false);
}

function disableButtons(form, disabled) {
  for (const button of find(form, 'button[type="submit"]')) {
    button.disabled = disabled;
  }
}
