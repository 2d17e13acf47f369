// What the scripts of a form page share.

/**
 * Calls a method of a form. In form.append, a control named "append" would hide
 * the method, and a control may have any field's id as its name. So the scripts
 * use no member of a form directly.
 */
export function call(form, method, ...args) {
  return Element.prototype[method].call(form, ...args);
}

/** The elements in a form that match a selector. */
export function find(form, selector) {
  return [...call(form, "querySelectorAll", selector)];
}

export function create(tag, attributes, text = "") {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.textContent = text;
  return element;
}

const status = create("p", { role: "status", "aria-live": "polite", class: "visually-hidden" });
document.body.append(status);

/** Has screen readers say a text when they are done with what they are saying. */
export function announce(text) {
  status.textContent = text;
}
