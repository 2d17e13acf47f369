// Finds English that has to be decoded: node tools/prose/prose.js [--shrink]
//
// It fails on a finding that exceptions.txt does not have, and on a line of exceptions.txt without a finding, which
// --shrink removes. CONTRIBUTING.md says how to mend a finding.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import plain from "@textlint/textlint-plugin-text";
import { rules } from "./rules.js";
import { read } from "./sources.js";

const plugins = [
  { pluginId: "markdown", plugin: markdown.default },
  { pluginId: "text", plugin: plain.default },
];
const kernel = new TextlintKernel();

// lint returns the findings in a text of sources.js.
export async function lint({ file, ext, text, lines }) {
  const { messages } = await kernel.lintText(text, { ext, plugins, rules });
  return messages.map(({ ruleId, message, range, line }) => {
    const sentence = text.slice(...range).replace(/\s+/g, " ");
    return { file, line: lines?.[line - 1] ?? line, rule: ruleId, message, sentence };
  });
}

// key is a line of exceptions.txt without its file: it stays the same where a sentence is moved.
const key = ({ rule, sentence }) => `${rule} ${createHash("sha256").update(sentence).digest("hex").slice(0, 12)}`;

// compare returns the findings that are not excepted, the exceptions without a finding, and the lines that are needed.
// A sentence that stands in two places has two lines.
export function compare(findings, exceptions) {
  const spare = new Map();
  for (const line of exceptions) {
    const k = line.split(" ").slice(0, 2).join(" ");
    spare.set(k, (spare.get(k) ?? 0) + 1);
  }
  const fresh = [], needed = [];
  for (const finding of findings) {
    const k = key(finding), count = spare.get(k) ?? 0;
    if (count > 0) {
      spare.set(k, count - 1);
      needed.push(`${k} ${finding.file}`);
    } else {
      fresh.push(finding);
    }
  }
  const stale = [...spare].flatMap(([k, count]) => Array(count).fill(k));
  return { fresh, stale, needed: needed.sort() };
}

async function main(args) {
  const findings = [];
  for (const text of read(fileURLToPath(new URL("../..", import.meta.url)))) findings.push(...(await lint(text)));
  const list = new URL("exceptions.txt", import.meta.url);
  const { fresh, stale, needed } = compare(findings, readFileSync(list, "utf8").split("\n").filter(Boolean));
  for (const { file, line, rule, message, sentence } of fresh) console.log(`${file}:${line}: ${rule}: ${message}\n    ${sentence}`);
  if (fresh.length > 0) console.log(`\nFindings: ${fresh.length}. "Plain English" in CONTRIBUTING.md says how to mend them.`);
  if (args.includes("--shrink")) {
    writeFileSync(list, needed.map((line) => line + "\n").join(""));
  } else if (stale.length > 0) {
    console.log(`\nLines of tools/prose/exceptions.txt without a finding: ${stale.length}. Remove them: node tools/prose/prose.js --shrink`);
    process.exitCode = 1;
  }
  if (fresh.length > 0) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
