// The rules of plain English. Each becomes a rule of textlint.

const words = {
  hence: "so",
  thus: "so",
  thereby: "so",
  whereby: "by which",
  wherein: "in which",
  therein: "in it",
  thereof: "of it",
  hitherto: "until now",
  henceforth: "from now on",
  shall: "must",
  "in force": "that it is shown, or applies",
  "in order to": "to",
  "so as to": "to",
  "by means of": "with",
  "prior to": "before",
  "any longer": "no longer",
  ticked: "selected",
};

const anyWord = new RegExp(`\\b(?:${Object.keys(words).join("|")})\\b`, "i");

const question = (s) => s.text.endsWith("?");
const pattern = (re, advice) => (s) => {
  const found = re.exec(s.text);
  return found && `"${found[0].trim()}": ${advice}`;
};

// What a rule says of a sentence: its advice, or nothing.
export const checks = {
  "long-sentence": (s) => {
    const count = s.text.split(" ").filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    return count > 25 && `${count} words: at most 25, and one idea, to a sentence`;
  },
  whoever: (s) =>
    pattern(/\bwho(?:m|so)?ever\b/i, "name the people: users, editors, everybody who …")(s) ||
    (s.type !== "Header" && !question(s) && pattern(/^Who\b/, "begin with the people: users who …, editors who …")(s)),
  "those-of": pattern(/\b(?:those|that) of\b|\bthose (?:that|who|which|with|in|on|from|for|by)\b/i, "repeat the noun"),
  "what-is": (s) =>
    !question(s) &&
    (pattern(/\bwhat(?: is| are| was| were| has| have| had|'s)\b/i, "use a noun: the faults, the value")(s) ||
      (s.type !== "Header" && pattern(/^What\b/, "begin with a noun")(s))),
  "double-negation": (s) =>
    pattern(/\bnot un(?!til|der|less|i)\p{L}+/iu, "say it without two negations")(s) ||
    pattern(
      /(?:\b(?:no|not|none|never|nothing|nobody|neither|cannot)|n't) (?:[^\s,;:()–—]+ ){0,6}?(?:without|unless|never)\b/i,
      "say it without two negations",
    )(s),
  "nothing-but": pattern(/\b(?:nothing|none|all|anything|nobody|no one) but\b|\bbut for\b|\bnone other than\b/i, "say only, or except"),
  "as-says": pattern(/\bas (?:(?:the|a|an|its|their) )?\S+ (?:says?|tells?|has it|have it|wants?|wills?)\b/i, "give the fact, or a link"),
  "is-to-be": pattern(/\b(?:is|are|was|were) to be\b/i, "say must, should or will"),
  "the-one": pattern(/\bthe (?:latter|former)\b(?! (?:files?|forms?|pages?|source|question))|\bthe ones? (?:that|which|who|of|with|in|for|to)\b|\bthe (?:longer|older|newer|other) one\b/i, "repeat the noun"),
  words: (s) => {
    const found = anyWord.exec(s.text);
    return found && `"${found[0]}": say ${words[found[0].toLowerCase()]}`;
  },
  // A text without an end is a label, such as "Only if Kind is other".
  "subject-first": (s) =>
    !/^Only if\b.*[^.!?:]$/.test(s.text) && pattern(/^(?:Of|Nor|Only when|Only if|Neither (?:is|are|does|do|has))\b/, "begin with the subject")(s),
  "table-cell": (s) => s.type === "TableCell" && /;\s/.test(s.text) && "a cell has no sentence with a semicolon: write two, or put it below the table",
};

// transparent stands for characters that are no text. Segmenters overlook it.
const transparent = "\u2060";

// plain returns a text as long as the source of a node: words stay; code, quoted text, or a link without spaces
// is one word, a name; markup is transparent.
function plain(node, source) {
  let text = "";
  const visit = (n) => {
    const [from, to] = n.range.map((at) => at - node.range[0]);
    if (n.type === "Str") text = text.padEnd(from, transparent) + source.slice(from, to);
    if (n.type === "Code" || (n.type === "Link" && !/\s/.test(n.raw))) return (text = text.padEnd(from, transparent).padEnd(to, "X"));
    n.children?.forEach(visit);
  };
  visit(node);
  return text.replaceAll("\n", " ").replace(/"[^"]{1,120}"|“[^”]{1,120}”/g, (quoted) => "X".repeat(quoted.length));
}

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
const cache = new WeakMap(); // all rules look at the same sentences

function sentences(node, source) {
  if (!cache.has(node)) {
    const list = [];
    for (const { segment, index } of segmenter.segment(plain(node, source))) {
      const raw = segment.replaceAll(transparent, " ").trimEnd();
      const text = segment.replaceAll(transparent, "").replace(/\s+/g, " ").trim();
      if (text) list.push({ type: node.type, text, from: index + raw.search(/\S/), to: index + raw.length });
    }
    cache.set(node, list);
  }
  return cache.get(node);
}

const rule = (check) => (context) => {
  const look = (node) => {
    for (const s of sentences(node, context.getSource(node))) {
      const advice = check(s);
      if (advice) context.report(node, new context.RuleError(advice, { padding: context.locator.range([s.from, s.to]) }));
    }
  };
  return { Paragraph: look, Header: look, TableCell: look };
};

export const rules = Object.entries(checks).map(([ruleId, check]) => ({ ruleId, rule: rule(check) }));
