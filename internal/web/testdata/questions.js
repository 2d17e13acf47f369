// A page with a form that has conditions, for the test of form.js.

import { button, element, input, question, show } from "page.js";

const shownIf = (fieldId, operator, value = "") => ({ action: "show", match: "all", rules: [{ fieldId, operator, value }] });
const section = shownIf("rating", "one-of", "1;2");
const definition = {
  fields: {
    rating: { fieldId: "rating", type: "radio", label: "Rating", condition: null, rank: 0 },
    reason: { fieldId: "reason", type: "textbox", label: "What went wrong?", condition: section, rank: 1 },
    topics: { fieldId: "topics", type: "checkbox", label: "Topics", condition: section, rank: 2 },
    append: { fieldId: "append", type: "textfield", label: "", condition: shownIf("topics", "equals", "a;b"), rank: 3 },
    proof: { fieldId: "proof", type: "file", label: "Proof", condition: shownIf("reason", "contains", "\uFFFD"), rank: 4 },
    querySelectorAll: { fieldId: "querySelectorAll", type: "textfield", label: "Thanks", condition: shownIf("proof", "equals", "a.pdf;b.pdf"), rank: 5 },
    other: { fieldId: "other", type: "textfield", label: "Other", condition: section, rank: 6 },
    last: { fieldId: "last", type: "textfield", label: "Last", condition: section, rank: 7 },
  },
};

const controls = {
  one: input("rating", "radio", "1"),
  two: input("rating", "radio", "2"),
  five: input("rating", "radio", "5"),
  reason: element("textarea", { name: "reason" }),
  a: input("topics", "checkbox", "a"),
  b: input("topics", "checkbox", "b"),
  unrelated: input("unrelated", "text", "b"),
  proof: input("proof", "file"),
};
const proof = question("proof", controls.proof);
const update = button({ name: "_update", "data-update": "" });
const questions = [
  question("rating", controls.one, controls.two, controls.five),
  element("fieldset", { "data-section": "" }, question("reason", controls.reason), question("topics", controls.a, controls.b, controls.unrelated)),
  question("append", input("append", "email")),
  proof,
  question("querySelectorAll", input("querySelectorAll", "text")),
  question("other", input("other", "text")),
  question("last", element("select", { name: "last" })),
];
const script = element("script", { "data-definition": "" });
script.textContent = JSON.stringify(definition);
const form = element("form", { "data-form": "", "data-conditions": "" }, script, ...questions, update, button());
show(form);

const fire = (type) => document.fire(type, { target: { form } });

// Each change is what a person does to the controls, and the event that follows.
const changes = {
  nothing: () => {},
  rateOne: () => ((controls.one.checked = true), (controls.five.checked = false), fire("change")),
  rateTwo: () => ((controls.two.checked = true), (controls.one.checked = false), fire("change")),
  tickBoth: () => ((controls.a.checked = controls.b.checked = true), fire("change")),
  typeHalfAPair: () => ((controls.reason.value = "so \uD83D bad"), fire("input")),
  chooseFiles: () => ((controls.proof.files = [{ name: "a.pdf" }, { name: "b.pdf" }]), fire("change")),
  chooseNoFile: () => ((controls.proof.files = []), fire("change")),
  storeFiles: () => ((proof.dataset.stored = "a.pdf;b.pdf"), fire("change")),
  rateFive: () => ((controls.five.checked = true), (controls.two.checked = false), fire("change")),
  putBack: () => ((controls.five.checked = false), (controls.one.checked = true), window.fire("pageshow")),
};

// Returns what the page looks like after a change.
globalThis.after = (change) => {
  changes[change]();
  const all = document.querySelectorAll("[data-field]");
  const enabled = (question) => question.querySelectorAll("input, select, textarea").every((control) => !control.disabled);
  const live = document.querySelectorAll("[aria-live]");
  return JSON.stringify({
    shown: all.filter((question) => !question.hidden).map((question) => question.dataset.field),
    sectionShown: !document.querySelector("[data-section]").hidden,
    enabled: all.filter(enabled).map((question) => question.dataset.field),
    announced: live.map((region) => region.textContent).join("|"),
    live: live[0].getAttribute("aria-live"),
    updateButton: `${update.type} ${update.hidden}`,
  });
};
