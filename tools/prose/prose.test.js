import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { compare, lint } from "./prose.js";
import { checks } from "./rules.js";
import { goText, messages, read } from "./sources.js";

const markdown = async (text) => (await lint({ file: "a.md", ext: ".md", text })).map((f) => f.rule);
const twentySix = "W " + "word ".repeat(24) + "end.";

const examples = {
  "long-sentence": { bad: [twentySix, `See [${twentySix}](x)`], good: [twentySix.replace("word ", ""), "One. ".repeat(30), "See a. [b.md](x) has " + twentySix.slice(20), "A – b. " + twentySix.replace("word ", "– ")] },
  whoever: { bad: ["Tell whoever runs it.", "Who hides it is another user."], good: ["Who may read it?", "# Who may read it", "A user who reads it pays."] },
  "those-of": { bad: ["Names like those of groups.", "Use that of the form.", "It reads those that are open."], good: ["In those cases it reads on.", "A form that often fails."] },
  "what-is": { bad: ["It stores what was sent.", "What remains is deleted.", "It shows what's wrong."], good: ["What is a form?", "# What the tests need", "It says what to do."] },
  "double-negation": { bad: ["It is not unusual.", "There is no update without a step.", "It doesn't start unless it must."], good: ["It is not until then.", "A change of no value sends nothing.", "It is in no database and no backup.", "No, it starts without a key."] },
  "nothing-but": { bad: ["It needs nothing but Go.", "All but editors see it.", "It is done but for one line.", "It was none other than Go."], good: ["Nothing is sent, but stored."] },
  "as-says": { bad: ["It sorts as the form says.", "It reads as HTTP has it."], good: ["It runs as root."] },
  "is-to-be": { bad: ["It is to be removed."], good: ["It wants to be removed."] },
  "the-one": { bad: ["Take the one that is free.", "It takes the latter.", "Write the longer one."], good: ["Take the one shown."] },
  words: { bad: ["The form is in force.", "It stops, hence it ends."], good: ["It has force.", "The husband."] },
  "subject-first": { bad: ["Of both it takes one.", "Neither do they.", "Only when it ends, it tells."], good: ["Not open yet."] },
  "table-cell": { bad: ["| a |\n|-|\n| one; two |"], good: ["One; two.", "| a |\n|-|\n| `a; b` |"] },
};

for (const name of Object.keys(checks)) {
  test(name, async () => {
    const { bad, good } = examples[name];
    for (const text of bad) assert.deepEqual(await markdown(text), [name], text);
    for (const text of good) assert.deepEqual(await markdown(text), [], text);
  });
}

test("code, quoted text and addresses are not read", async () => {
  const text = "Say `those of`, \"what is\" or [it](https://example.com/whoever).\n\n```\nthose of\n```\n\n<!-- whoever -->\n";
  assert.deepEqual(await markdown(text), []);
  assert.deepEqual(await markdown("It has **those** of [a *group*](x)."), ["those-of"]);
});

test("a finding has its line and its sentence", async () => {
  const [finding] = await lint({ file: "a.md", ext: ".md", text: "# A\n\n- One.\n- Two is\n  here. Take **those\n  of** three. Four.\n" });
  assert.equal(finding.line, 5);
  assert.equal(finding.sentence, "Take **those of** three.");
});

test("comments and errors of Go", async () => {
  const source = [
    "// Package a is", // 1
    "// whoever.", //
    "//",
    "//\tfor whoever",
    "//go:generate whoever",
    "package a",
    "",
    'var s = "// whoever" // it is whoever', // 8
    "// comment that stands alone", // 9
    "/* whoever */",
    "var r = '\"' // whoever it is", // 11
    "// - whoever is first", // 12
    "// - and whoever is second", // 13
    "var x = `",
    "// whoever`",
    'var f = errors.New("\\"a\\": whoever")', // 16
    'var g = fmt.Sprintf("whoever")',
  ].join("\n");
  const found = await lint({ file: "a.go", ...goText(source) });
  assert.deepEqual(found.map((f) => [f.line, f.sentence]), [
    [1, "Package a is whoever."],
    [8, "it is whoever"],
    [11, "whoever it is"],
    [12, "- whoever is first"],
    [13, "- and whoever is second"],
    [16, '"a": whoever'],
  ]);
});

test("messages of both kinds of catalogs", () => {
  const yaml = 'name: English\nday: "2006"\n---\n\n# whoever\n"Sent by <bdi>{0}</bdi>": "Sent by <bdi>{0}</bdi>"\n"{0} forms":\n  one: "{0} form"\n  other: "{0} forms"\n';
  const pot = '# whoever\nmsgid ""\nmsgstr ""\n"Language: en\\n"\n\n#. whoever\nmsgctxt "filter"\nmsgid "is"\nmsgstr ""\n\nmsgid "{0} \\"form\\""\nmsgid_plural "{0} forms"\nmsgstr[0] ""\n\nmsgid ""\n"a long "\n"one"\nmsgstr ""\n';
  assert.equal(messages(yaml).text, "2006\n\nSent by {0}\n\n{0} forms\n\n{0} form");
  assert.deepEqual(messages(yaml).lines.filter((_, i) => i % 2 === 0), [2, 6, 7, 8]);
  assert.equal(messages(pot).text, 'is\n\n{0} "form"\n\n{0} forms\n\na long one');
});

test("exceptions", () => {
  const finding = (file, sentence, rule = "whoever") => ({ file, rule, sentence });
  const a = finding("a.go", "Whoever."), b = finding("b.go", "Or whoever.");
  const line = "whoever 177caa030e7a a.go";
  assert.deepEqual(compare([a, b], []), { fresh: [a, b], stale: [], needed: [] });
  assert.deepEqual(compare([a, b], [line]), { fresh: [b], stale: [], needed: [line] });
  assert.deepEqual(compare([], [line]), { fresh: [], stale: [line.slice(0, -5)], needed: [] });
  const moved = finding("c.go", "Whoever."), other = finding("a.go", "Whoever.", "words");
  assert.deepEqual(compare([moved, other], [line]), { fresh: [other], stale: [], needed: [line.replace("a.go", "c.go")] });
  assert.deepEqual(compare([a, a], [line]).fresh, [a], "a copy is new");
  assert.deepEqual(compare([a], [line, line]).stale.length, 1);
});

// repository runs a test in a new one.
async function repository(run) {
  const root = mkdtempSync(join(tmpdir(), "prose"));
  const git = (...args) => execFileSync("git", args, { cwd: root });
  try {
    git("init", "-q");
    await run(root, git);
  } finally {
    rmSync(root, { recursive: true });
  }
}

test("files of a repository", () =>
  repository((root, git) => {
    for (const name of ["a.md", "b/c.go", "b/testdata/d.md", "b/messages/en.yaml", "b/messages/de.yaml", "messages.pot", "e.txt", "new.md", "gone.md", "ignored.md"]) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), "");
    }
    writeFileSync(join(root, ".gitignore"), "ignored.md\n");
    git("add", "a.md", "b", "gone.md", "messages.pot");
    rmSync(join(root, "gone.md"));
    assert.deepEqual(read(root).map((t) => t.file).sort(), ["a.md", "b/c.go", "b/messages/en.yaml", "messages.pot", "new.md"]);
  }));

test("findings and spare exceptions fail, and --shrink removes the latter", () =>
  repository((root) => {
    const here = new URL(".", import.meta.url).pathname, dir = join(root, "tools/prose");
    mkdirSync(dir, { recursive: true });
    for (const name of ["package.json", "prose.js", "rules.js", "sources.js"]) copyFileSync(join(here, name), join(dir, name));
    symlinkSync(join(here, "node_modules"), join(dir, "node_modules"));
    const list = join(dir, "exceptions.txt");
    const prose = (...args) => spawnSync(process.execPath, [join(dir, "prose.js"), ...args], { encoding: "utf8" });

    writeFileSync(join(root, "a.md"), "Tell whoever runs it.\n");
    writeFileSync(list, "");
    const first = prose();
    assert.equal(first.status, 1);
    assert.match(first.stdout, /^a\.md:1: whoever: .*\n {4}Tell whoever runs it\.\n/);
    assert.equal(prose("--shrink").status, 1);
    assert.equal(readFileSync(list, "utf8"), "", "nothing adds an exception");

    const needed = "whoever 8ce3fe84c8ac a.md\n";
    writeFileSync(list, needed);
    assert.equal(prose().status, 0);
    writeFileSync(list, needed + "words 000000000000 a.md\n");
    const spare = prose();
    assert.equal(spare.status, 1);
    assert.match(spare.stdout, /without a finding: 1\./);
    assert.equal(prose("--shrink").status, 0);
    assert.equal(readFileSync(list, "utf8"), needed);
  }));
