// What Undo takes back on the author's page: the steps from one text to the next. Each has its name, and what turns the text
// after it into the text before it. A hidden control holds them, so they are kept with the draft.

const most = 50; // steps
const longest = 30_000; // characters of all steps

/** @type {(control: HTMLInputElement, text: HTMLTextAreaElement) => any} */
export function newHistory(control, text) {
  let before = []; // the steps before the current one
  let base = ""; // the text before the current one
  /** The steps so far have ended: the next change of the text is a step of its own. */
  const settle = () => {
    before = read();
    base = text.value;
  };
  const read = () => {
    try {
      return JSON.parse(control.value || "[]");
    } catch {
      return [];
    }
  };
  const write = (steps) => {
    while (steps.length > most || JSON.stringify(steps).length > longest) {
      steps.shift();
    }
    control.value = JSON.stringify(steps);
    control.dispatchEvent(new Event("input", { bubbles: true })); // for drafts.js
  };
  /** Notes how the text differs from that at the end of the last step. */
  const note = (what) => write(text.value === base ? [...before] : [...before, [what, ...difference(base, text.value)]]);
  settle();
  return {
    settle,
    note,
    last: () => read().at(-1)?.[0],
    /** Goes back by a step. Returns its name, and what goes forward again. */
    undo() {
      const [steps, after] = [read(), text.value];
      const [what, start, end, middle] = steps.at(-1);
      text.value = text.value.slice(0, start) + middle + text.value.slice(text.value.length - end);
      write(steps.slice(0, -1));
      settle();
      const redo = () => {
        text.value = after;
        write(steps);
        settle();
      };
      return { what, redo };
    },
  };
}

/** How much of a text is the same at its start and end, and what an older text has between. */
function difference(old, text) {
  const least = Math.min(old.length, text.length);
  let [start, end] = [0, 0];
  while (start < least && old[start] === text[start]) start++;
  while (end < least - start && old.at(-1 - end) === text.at(-1 - end)) end++;
  return [start, end, old.slice(start, old.length - end)];
}
