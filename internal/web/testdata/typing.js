// Pages whose drafts are kept, for the test of drafts.js. Each story returns what was
// seen, in a line for each step. attachDrafts is given by the test.

import { button, element, input, press, question, show, wait } from "page.js";

const methods = {
  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  },
  setItem(key, value) {
    this[key] = value;
  },
  removeItem(key) {
    delete this[key];
  },
};
const newStorage = () => Object.create(methods);
const begin = Date.now();
let now = begin;
Date.now = () => now;
globalThis.Event = class {
  constructor(type) {
    this.type = type;
  }
};
Element.prototype.dispatchEvent = function ({ type }) {
  document.fire(type, { target: this });
};
window.localStorage = newStorage();
show();

/** Opens a page with a form, as the server sends it. */
function open({ draft = "amy /page/1/form/f", typed = false, tag = "1", search = "", text = "", key = "new", was = {} } = {}) {
  location.search = search;
  const size = element("select", { name: "size" });
  size.options = [{ value: "" }, { value: "S" }];
  const c = {
    text: input("text", "text", text),
    note: element("textarea", { name: "note" }),
    size,
    a: input("boxes", "checkbox", "a"),
    b: input("boxes", "checkbox", "b"),
    file: input("file", "file", ""),
    send: button(),
    key: input("_key", "hidden", key),
  };
  const attributes = { "data-form": "", action: "/page/1/form/f", ...(draft ? { "data-draft": draft } : {}), ...(typed ? { "data-typed": "" } : {}) };
  const fields = [question("text", c.text), question("note", c.note), question("size", c.size), question("boxes", c.a, c.b), question("file", c.file)];
  fields.forEach(({ dataset }) => was[dataset.field] && (dataset.was = JSON.stringify(was[dataset.field])));
  const form = element("form", attributes, input("_tag", "hidden", tag), c.key, ...fields, c.send);
  Object.values(c).forEach((control) => (control.form = form));
  form.querySelectorAll("input").forEach((control) => (control.form = form));
  show(form);
  attachDrafts();
  return { ...c, form };
}

function type(control, value) {
  control.value = value;
  document.fire("input", { target: control });
}

const note = () => document.querySelector("main").children.find(({ tag }) => tag === "div");
const told = () => note()?.children.map(({ textContent }) => textContent).join("|") ?? "nothing";
const click = (name) => note().children.find(({ textContent }) => textContent === name).fire("click");
const kept = () => Object.keys(window.localStorage).length;
const seen = (p) => `${p.text.value}|${p.note.value}|${p.size.value}|${p.a.checked}|${p.b.checked}`;

function fill(p) {
  type(p.text, "hello");
  type(p.note, "two lines");
  type(p.size, "S");
  p.b.checked = true;
  document.fire("change", { target: p.b });
  p.file.value = "C:\\fakepath\\cv.pdf";
  document.fire("change", { target: p.file });
}

const stories = {
  restored() {
    fill(open());
    const before = kept();
    wait(1000);
    const p = open();
    const lines = [before, kept(), seen(p), told(), p.file.value === ""];
    click("Discard");
    return [...lines, seen(p), told(), kept()];
  },
  leftAtOnce() {
    fill(open());
    window.fire("pagehide");
    return [seen(open())];
  },
  otherUser() {
    fill(open());
    wait(1000);
    return [seen(open({ draft: "ben /page/1/form/f" })), told()];
  },
  anonymous() {
    fill(open({ draft: "" }));
    wait(1000);
    return [kept()];
  },
  prefilled() {
    fill(open());
    wait(1000);
    const p = open({ search: "?text=x", text: "x" });
    const lines = [seen(p), told()];
    type(p.note, "newer");
    wait(1000);
    click("Restore");
    return [...lines, seen(p), told()];
  },
  changedByOthers() {
    fill(open());
    wait(1000);
    return [seen(open({ tag: "2" })), told()];
  },
  renamed() {
    const draft = { key: "first", search: "", tag: "1", time: now, files: [] };
    const values = { older: ["first"], name: ["hello"], note: ["two lines"], size: ["small"], boxes: ["x", "b", "toString"] };
    window.localStorage.setItem("formulary.draft amy /page/1/form/f", JSON.stringify({ ...draft, values }));
    const was = {
      text: { ids: ["name", "older"], values: {} },
      size: { ids: [], values: { small: "S" } },
      boxes: { ids: [], values: { x: "a" } },
    };
    const p = open({ was });
    const lines = [seen(p), told()];
    type(p.text, "hello");
    wait(1000);
    const stored = JSON.parse(window.localStorage.getItem("formulary.draft amy /page/1/form/f")).values;
    return [...lines, JSON.stringify(stored, ["text", "note", "size", "boxes", "name", "older"])];
  },
  refused() {
    fill(open());
    wait(1000);
    const p = open({ typed: true, text: "7.50" });
    const lines = [seen(p), told()];
    type(p.note, "corrected");
    wait(1000);
    return [...lines, seen(open())];
  },
  erased() {
    const p = open();
    type(p.text, "hello");
    wait(1000);
    type(p.text, "");
    wait(1000);
    return [kept()];
  },
  sent() {
    const p = open();
    fill(p);
    press(p.form, p.send);
    return [kept(), sessionStorage.getItem("formulary.sent")];
  },
  sentWithoutAnswer() {
    const p = open({ key: "first" });
    fill(p);
    press(p.form, p.send);
    const q = open();
    const lines = [q.key.value, told()];
    click("Discard");
    return [...lines, q.key.value];
  },
  sentAndRefused() {
    const p = open({ key: "first" });
    fill(p);
    press(p.form, p.send);
    open({ key: "first", typed: true, text: "7.50" });
    return [open().key.value, told()];
  },
  sentAndKeptByTheBrowser() {
    const p = open({ key: "first" });
    type(p.text, "hello");
    press(p.form, p.send);
    return [open({ text: "hello" }).key.value, told()];
  },
  keyOfWhatIsRestored() {
    type(open({ key: "first" }).text, "hello");
    wait(1000);
    const p = open({ search: "?text=x", text: "x" });
    type(p.note, "newer");
    wait(1000);
    const lines = [p.key.value];
    click("Restore");
    lines.push(p.key.value);
    return [...lines, open().key.value];
  },
  sameAddress() {
    type(open({ search: "?text=x", text: "x" }).note, "typed");
    wait(1000);
    return [seen(open({ search: "?text=x", text: "x" })), seen(open({ search: "?text=y", text: "y" }))];
  },
  files() {
    const p = open();
    p.file.files = [{ name: "cv.pdf" }, { name: "photo.png" }];
    fill(p);
    wait(1000);
    const q = open();
    const lines = [told()];
    type(q.note, "more"); // the names stay until files are chosen
    wait(1000);
    open().file.files = [];
    lines.push(told());
    click("Discard");
    type(open().text, "again");
    wait(1000);
    open();
    return [...lines, told()];
  },
  signedOutInAnotherTab() {
    const p = open();
    type(p.text, "hello");
    window.localStorage.setItem("formulary.signedOut", "1");
    wait(1000);
    return [kept()];
  },
  tooLong() {
    const p = open();
    type(p.note, "x".repeat(100_000));
    wait(1000);
    return [kept()];
  },
  tooMany() {
    for (let i = 0; i < 25; i++) {
      now++;
      type(open({ draft: `amy /page/${i}` }).text, "hello");
      wait(1000);
    }
    const all = Object.keys(window.localStorage);
    return [all.length, all.includes("formulary.draft amy /page/4"), all.includes("formulary.draft amy /page/5")];
  },
  old() {
    type(open().text, "hello");
    wait(1000);
    const days = (n) => ((now = begin + n * 24 * 3600 * 1000), open(), kept());
    return [days(29), days(31)];
  },
  spoiled() {
    window.localStorage["formulary.draft amy /page/1/form/f"] = "{no JSON";
    return [seen(open()), kept()];
  },
  noStorage() {
    Object.defineProperty(window, "localStorage", { get: () => { throw new Error("refused"); }, configurable: true });
    const p = open();
    fill(p);
    wait(1000);
    press(p.form, p.send);
    return [seen(p)];
  },
};

globalThis.tell = (story) => {
  now = begin;
  Object.defineProperty(window, "localStorage", { value: newStorage(), configurable: true, writable: true });
  globalThis.sessionStorage = newStorage();
  return stories[story]().join("\n");
};
