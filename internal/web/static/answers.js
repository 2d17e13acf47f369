// Takes answers along when a part of a page is replaced. Pages where they are only typed do without it.

import { find } from "./dom.js";

/** Puts the answers of a part of a page, and its hidden values, into its successor. */
export function keepAnswers(old, next) {
  const key = ({ name, type, value }) => JSON.stringify([name, type, /^(radio|checkbox)$/.test(type) && value]);
  const controls = (part) => find(part, ':is([data-field] :is(input, select, textarea), [type="hidden"]):not([name="_shown"])');
  const before = new Map(controls(old).map((control) => [key(control), control]));
  for (const control of controls(next)) {
    const { value, checked, files } = before.get(key(control)) ?? control;
    control.checked = checked;
    if (control.type === "file") {
      control.files = files;
    } else {
      control.value = value;
      control.value ||= ""; // where it is no option any more
    }
  }
}
