// As much of a browser's page as form.js needs, and functions for the test of it.

class Element {
  constructor(tag, attributes = {}, ...children) {
    Object.assign(this, { tag, map: new Map(Object.entries(attributes)), children, listeners: {}, dataset: {}, hidden: false });
    Object.assign(this, { disabled: false, name: attributes.name, type: attributes.type, value: attributes.value ?? "", checked: false });
    Object.assign(this, { files: [], textContent: "" });
    for (const [name, value] of this.map) {
      if (name.startsWith("data-")) {
        this.dataset[name.slice("data-".length)] = value;
      }
    }
    children.forEach((child) => (child.parent = this));
  }

  // The selectors are lists of tag, [attribute], tag[attribute] and tag[attribute="value"].
  matches(selector) {
    return selector.split(", ").some((one) => {
      const [, tag, attribute, value] = /^([a-z]*)(?:\[([a-z-]+)(?:="(.*)")?\])?$/.exec(one);
      return (!tag || tag === this.tag) && (!attribute || this.map.has(attribute)) && (!value || this.map.get(attribute) === value);
    });
  }

  // A selector with a space holds for the error summary's links.
  closest(selector) {
    const [outer, inner] = selector.includes("] ") ? selector.split(" ") : [null, selector];
    const found = this.matches(inner) ? this : this.parent?.closest(inner);
    return found && (!outer || found.closest(outer)) ? found : null;
  }

  querySelectorAll(selector) {
    const { matches, querySelectorAll } = Element.prototype;
    return this.children.flatMap((child) => [...(matches.call(child, selector) ? [child] : []), ...querySelectorAll.call(child, selector)]);
  }

  querySelector(selector) {
    return Element.prototype.querySelectorAll.call(this, selector)[0] ?? null;
  }

  get attributes() {
    return Array.from(this.map, ([name, value]) => ({ name, value }));
  }
  getAttribute(name) {
    return this.map.get(name) ?? null;
  }
  hasAttribute(name) {
    return this.map.has(name);
  }
  setAttribute(name, value) {
    this.map.set(name, value);
  }
  removeAttribute(name) {
    this.map.delete(name);
  }

  append(...children) {
    children.forEach((child) => (child.parent = this));
    this.children.push(...children);
  }
  before(...others) {
    this.replaceWith(...others, this);
  }
  replaceWith(...others) {
    this.parent.children.splice(this.parent.children.indexOf(this), 1, ...others);
    others.forEach((other) => (other.parent = this.parent));
  }
  remove() {
    this.replaceWith();
  }

  addEventListener(type, listener) {
    (this.listeners[type] ??= []).push(listener);
  }
  fire(type, event = {}) {
    (this.listeners[type] ?? []).forEach((listener) => listener(event));
  }

  focus() {
    document.activeElement = this;
  }
  scrollIntoView() {
    document.scrolledTo = this;
  }
}

export const element = (tag, attributes, ...children) => {
  const made = new Element(tag, attributes, ...children);
  if (tag === "form") {
    // As in a browser, the names of controls hide the members of the form.
    made.querySelectorAll("input").forEach((control) => (made[control.name] = control));
  }
  return made;
};
export const question = (id, ...controls) => element("div", { "data-field": id }, ...controls);
export const input = (name, type, value) => element("input", { name, type, value, id: `${name}-${value}` });
export const button = (attributes) => element("button", { type: "submit", ...attributes });

/** Makes a page of forms, as the document. */
export function show(...content) {
  const title = element("title");
  document.body = element("body", {}, element("main", {}, ...content));
  document.children = [title, document.body];
}

/** Has a person press a button. Returns whether the browser sends the form itself. */
export function press(form, submitter) {
  let sent = true;
  if (!submitter.disabled) {
    document.fire("submit", { target: form, submitter, preventDefault: () => (sent = false) });
  }
  return sent && !submitter.disabled;
}

/** Runs what was left for later, if it is due at once. */
export function wait(milliseconds = 0) {
  const due = later.filter((one) => one.delay <= milliseconds);
  later = later.filter((one) => one.delay > milliseconds);
  due.forEach((one) => one.callback());
}

let later = [];
globalThis.Element = Element;
globalThis.setTimeout = (callback, delay = 0) => later.push({ callback, delay });
globalThis.window = element("window");
globalThis.document = element("html");
document.baseURI = "https://forms.example/page/1";
document.createElement = (tag) => element(tag);
document.getElementById = (id) => document.querySelector(`[id="${id}"]`);
globalThis.location = { assign: (address) => (location.assigned = address) };
globalThis.URL = class {
  constructor(address) {
    this.href = `https://forms.example${address}`;
  }
};
globalThis.FormData = class {
  constructor(form) {
    this.form = form;
    this.added = [];
  }
  append(name, value) {
    this.added.push(`${name}=${value}`);
  }
};
globalThis.XMLHttpRequest = class {
  upload = {};
  open(method, address) {
    Object.assign(this, { method, address, responseURL: address });
  }
  send(data) {
    this.data = data;
    globalThis.request = this;
  }
  abort() {
    this.onabort();
  }
};
