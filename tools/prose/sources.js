// What is read, and how its English is taken out of it: a text, and the line that each of its lines had in the file.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const oneLine = (text) => text.replace(/\s+/g, " ").trim();

// An empty line ends a paragraph.
const byLine = (paragraphs) => ({
  ext: ".txt",
  text: paragraphs.map((p) => p.text).join("\n\n"),
  lines: paragraphs.flatMap((p) => [p.line, p.line]),
});

// goText takes line comments and the texts of errors. Comments that follow each other are a paragraph, up to an empty one.
export function goText(source) {
  const paragraphs = [];
  const tokens = /"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])*'|\/\*[^]*?\*\/|\/\/.*/g;
  let last = null; // the comment that the next line may go on with
  let line = 1, at = 0;
  for (const { 0: token, index } of source.matchAll(tokens)) {
    line += source.slice(at, index).split("\n").length - 1;
    at = index;
    if (token[0] === '"' && /\b(?:errors\.New|fmt\.Errorf)\(\s*$/.test(source.slice(index - 20, index))) {
      paragraphs.push({ text: oneLine(token.slice(1, -1).replace(/\\n/g, " ").replace(/\\(.)/g, "$1")), line });
    }
    if (!token.startsWith("//")) continue;
    const text = token.slice(2);
    const alone = /(?:^|\n)[ \t]*$/.test(source.slice(Math.max(0, index - 40), index));
    if (!text.trim() || /^(?:\t| {2})/.test(text) || /^(?:go:|nolint| Output:)/.test(text)) { // empty, code, directive
      last = null;
    } else if (last && alone && line === last.end + 1 && !/^ *(?:[-*]|\d+\.) /.test(text)) {
      last.text += " " + oneLine(text);
      last.end = line;
    } else {
      const paragraph = { text: oneLine(text), line, end: line };
      paragraphs.push(paragraph);
      last = alone ? paragraph : null;
    }
  }
  return byLine(paragraphs);
}

// messages takes the English messages out of a gettext template (.pot) or a YAML catalog (keys, and values of plural forms).
export function messages(source) {
  const quoted = /"(?:\\.|[^"\\\n])*"/g;
  const entries = /^msgid "/m.test(source)
    ? source.matchAll(/^msgid(?:_plural)? ((?:"(?:\\.|[^"\\\n])*"\s*)+)/gm)
    : source.matchAll(/^[^#\n]*"(?:\\.|[^"\\\n])*".*$/gm);
  const found = new Map(); // a key and its text are one message
  for (const { 0: entry, 1: joined, index } of entries) {
    const strings = (joined ?? entry).match(quoted).map((text) => JSON.parse(text));
    for (const string of joined ? [strings.join("")] : strings) {
      const text = oneLine(string.replace(/<[^>]*>/g, ""));
      if (text && !found.has(text)) found.set(text, { text, line: source.slice(0, index).split("\n").length });
    }
  }
  return byLine([...found.values()]);
}

// The first that fits a name says how to read the file.
const kinds = [
  [/(^|\/)testdata\/|^bench\/RESULTS\.md$/, null], // fixtures, and what bench writes
  [/\.md$/, (text) => ({ ext: ".md", text })],
  [/\.go$/, goText],
  [/(^|\/)messages(\.pot|\/en\.yaml)$/, messages],
];

// read returns every text of the repository, also of files that git does not know yet.
export function read(root) {
  const names = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 });
  const texts = [];
  for (const file of new Set(names.split("\0"))) {
    const take = kinds.find(([name]) => name.test(file))?.[1];
    if (take && existsSync(join(root, file))) texts.push({ file, ...take(readFileSync(join(root, file), "utf8")) });
  }
  return texts;
}
