// Files that are chosen one after the other add up: the cameras of phones give one at a
// time. Each is listed, and can be removed. Without this script, the files that are chosen
// last replace the others.

import { announce, create, find } from "./dom.js";
import { lang, t, tn } from "./text.js";

const separator = ";"; // of names in a value

const chosen = new WeakMap(); // by input: the files that are listed

/** Adds files that were chosen before to those that were chosen just now, and returns what to say about that. */
export function addFiles(input) {
  const added = [...input.files];
  setFiles(input, [...(chosen.get(input) ?? []), ...added]);
  return added.length > 0 ? t("Added: {0}.", added.map(({ name }) => name).join(t(", "))) : "";
}

function setFiles(input, files) {
  const transfer = new DataTransfer();
  files.forEach((file) => transfer.items.add(file));
  input.files = transfer.files;
  showFiles(input);
}

/** Lists the chosen files above their input. */
export function showFiles(input) {
  const question = input.closest("[data-field]");
  const list = create("ul", { class: "stored-files", "data-chosen": "" });
  chosen.set(input, [...input.files]);
  for (const [i, { name, size }] of chosen.get(input).entries()) {
    const file = create("span", {});
    const remove = create("button", { type: "button", class: "plain" }, t("Remove"));
    const item = create("li", {});
    file.append(create("bdi", {}, name), create("span", {}, ` (${sizeText(size)})`));
    remove.append(create("span", { class: "visually-hidden" }, ` ${name}`));
    remove.addEventListener("click", () => removeFile(input, i));
    item.append(file, remove);
    list.append(item);
  }
  question.querySelector("[data-chosen]")?.remove();
  if (input.files.length > 0) {
    input.before(list);
  }
}

function removeFile(input, i) {
  const files = [...input.files];
  const [{ name }] = files.splice(i, 1);
  setFiles(input, files);
  const buttons = input.closest("[data-field]").querySelectorAll("[data-chosen] button");
  (buttons[Math.min(i, files.length - 1)] ?? input).focus();
  announce(t("Removed: {0}.", name));
  input.dispatchEvent(new Event("change", { bubbles: true })); // for form.js and drafts.js
}

/** A number of bytes, as the server writes it. */
function sizeText(size) {
  const round = (unit) => (Math.floor((10 * size) / unit) / 10).toLocaleString(`${lang}-u-nu-latn`);
  if (size < 1e3) {
    return tn("{0} bytes", "{0} bytes", size);
  }
  if (size < 1e6) {
    return t("{0} kB", round(1e3));
  }
  return size < 1e9 ? t("{0} MB", round(1e6)) : t("{0} GB", round(1e9));
}

/** The names of the stored files of a question, without those that are to be removed. */
export function storedNames(question) {
  const { field, stored } = question.dataset;
  const names = new Set(stored ? stored.split(separator) : []);
  for (const { value, checked } of find(question, 'input[name="_remove"]')) {
    const name = value.slice(field.length + 1);
    checked ? names.delete(name) : names.add(name);
  }
  return [...names];
}

/** Tells if the server would refuse the chosen files, for their size or number. Returns whether it takes them. */
export function checkFiles(input) {
  const question = input.closest("[data-field]");
  const problems = [tooLarge(input), tooMany(input, question)].filter(Boolean);
  const id = `${input.id}-size`;
  const described = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((other) => other && other !== id);
  for (const old of find(question, "[data-size-error]")) {
    old.remove();
    input.removeAttribute("aria-invalid");
  }
  if (problems.length > 0) {
    described.push(id);
    input.setAttribute("aria-invalid", "true");
    input.before(create("p", { class: "error", role: "alert", id, "data-size-error": "" }, problems.join(" ")));
  }
  input.setAttribute("aria-describedby", described.join(" "));
  return problems.length === 0;
}

function tooLarge(input) {
  const limit = Number(input.getAttribute("data-max-size"));
  const large = [...input.files].filter(({ size }) => limit && size > limit);
  const names = large.map(({ name }) => t("“{0}”", name)).join(t(", "));
  const most = input.getAttribute("data-limit");
  return (
    large.length > 0 &&
    tn("{1} is too large: at most {2} each.", "{1} are too large: at most {2} each.", large.length, names, most)
  );
}

function tooMany(input, question) {
  const most = Number(input.getAttribute("data-max-files"));
  if (!most || input.files.length === 0 || storedNames(question).length + input.files.length <= most) {
    return "";
  }
  const label = t("“{0}”", input.labels[0].textContent);
  return t("{0}.", tn("{1} may have at most {0} file", "{1} may have at most {0} files", most, label));
}
