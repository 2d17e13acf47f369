// Decides which fields of a form show, for given values, and how a typed value is
// stored. The server decides the same with Form.Visible in internal/forms and
// tidyValue in internal/web, and tests compare them.

const separator = ";";

/**
 * Prepares the conditions of a form, as the API describes it. The result is a
 * function that takes the values by field id, as a Map of strings, and returns
 * the ids of the fields that show, as a Set in the order of the questions. A
 * field without a value counts as empty, and so does a hidden field, whatever
 * its value is.
 *
 * form.conditions is not needed: each field has its condition or its section's.
 */
export function visibility(form) {
  const fields = new Map();
  const conditions = new Map(); // by their JSON: the fields of a section share one
  // Not the order of keys: JavaScript puts integers first.
  const byRank = Object.values(form.fields).sort((a, b) => a.rank - b.rank);
  for (const field of byRank) {
    fields.set(field.fieldId, {
      id: field.fieldId,
      multiValue: field.type === "checkbox",
      condition: field.condition && prepare(field.condition, conditions),
    });
  }
  return (values) => visibleFields(fields, values);
}

/** A typed value as it is stored: without spaces around a single line, and numbers with a decimal point alone. */
export function tidy(value, { oneLine, numeric }) {
  const text = oneLine ? trim(value) : value;
  return numeric ? plainNumber(text) : text;
}

// An apostrophe stands for all marks that only separate groups of three digits.
const groupMarks = /[ \u00A0\u2009\u202F\u2019]/g;
const writtenNumber = new RegExp("^(?:" +
  "(-?[0-9]+|-?[1-9][0-9]{0,2}(?:'[0-9]{3})+)(?:[.,]([0-9]+))?|" + // 1'000.5
  "(-?[1-9][0-9]{0,2}(?:\\.[0-9]{3})+)(?:,([0-9]+))?|" + // 1.000,5
  "(-?[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\\.([0-9]+))?)$"); // 1,000.5
const ambiguousNumber = /^-?[1-9][0-9]{0,2}[.,][0-9]{3}$/; // the server refuses it

/** A text that is no number, or can mean two, stays as it is. */
function plainNumber(text) {
  const parts = writtenNumber.exec(text.replace(groupMarks, "'"));
  if (!parts || ambiguousNumber.test(text)) {
    return text;
  }
  const whole = (parts[1] ?? parts[3] ?? parts[5]).replace(/['.,]/g, "");
  const fraction = parts[2] ?? parts[4] ?? parts[6];
  return fraction ? `${whole}.${fraction}` : whole;
}

/** Does without the method of strings, which takes U+FEFF for a space, and U+0085 for none. */
function trim(text) {
  const space = /\p{White_Space}/u;
  let from = 0;
  let to = text.length;
  while (from < to && space.test(text[from])) {
    from++;
  }
  while (to > from && space.test(text[to - 1])) {
    to--;
  }
  return text.slice(from, to);
}

function prepare(condition, known) {
  const key = JSON.stringify(condition);
  if (!known.has(key)) {
    known.set(key, { any: condition.match === "any", rules: condition.rules.map(prepareRule) });
  }
  return known.get(key);
}

function prepareRule({ fieldId, operator, value }) {
  const rule = { fieldId, operator, value };
  if (operator === "greater-than" || operator === "less-than") {
    rule.order = orderOf(value);
  } else {
    rule.list = new Set(value.split(separator));
  }
  return rule;
}

/** Each condition is evaluated once, however many fields share it or depend on it. */
function visibleFields(fields, values) {
  const holds = new Map(); // by condition
  const answers = new Map(); // by field

  function shows({ condition }) {
    if (!condition) {
      return true;
    }
    if (!holds.has(condition)) {
      holds.set(condition, false); // ends the recursion in a cycle
      holds.set(condition, evaluate(condition));
    }
    return holds.get(condition);
  }

  function evaluate({ any, rules }) {
    for (const rule of rules) {
      if (ruleHolds(rule) === any) {
        return any;
      }
    }
    return !any;
  }

  function ruleHolds(rule) {
    const field = fields.get(rule.fieldId);
    return field !== undefined && meets(answerOf(field), rule);
  }

  function answerOf(field) {
    let answer = answers.get(field);
    if (answer === undefined) {
      const value = shows(field) ? (values.get(field.id) ?? "") : "";
      answer = { value, multiValue: field.multiValue };
      answers.set(field, answer);
    }
    return answer;
  }

  const shown = new Set();
  for (const field of fields.values()) {
    if (shows(field)) {
      shown.add(field.id);
    }
  }
  return shown;
}

/** What several rules need to know about an answer is kept in it: the value may be long. */
function meets(answer, rule) {
  switch (rule.operator) {
    case "equals":
      return equals(answer, rule);
    case "not-equals":
      return !equals(answer, rule);
    case "one-of":
      return answer.multiValue ? rule.list.has(only(partsOf(answer))) : rule.list.has(answer.value);
    case "contains":
      return contains(answer, rule.value);
    case "empty":
      return isBlank(answer);
    case "not-empty":
      return !isBlank(answer);
    case "greater-than":
      return compare((answer.order ??= orderOf(answer.value)), rule.order) > 0;
    case "less-than":
      return compare((answer.order ??= orderOf(answer.value)), rule.order) < 0;
    default:
      return false;
  }
}

/** Several values are a set: their order does not count. */
function equals(answer, { value, list }) {
  if (!answer.multiValue) {
    return answer.value === value;
  }
  const parts = partsOf(answer);
  return parts.size === list.size && [...list].every((part) => parts.has(part));
}

function contains(answer, part) {
  return answer.multiValue ? partsOf(answer).has(part) : answer.value.includes(part);
}

function partsOf(answer) {
  answer.parts ??= new Set(answer.value.split(separator));
  return answer.parts;
}

/** The only element of a set, undefined if it has several. */
function only(set) {
  return set.size === 1 ? [...set][0] : undefined;
}

/** Does without trim, which takes U+FEFF for a space, and U+0085 for none. */
function isBlank(answer) {
  const other = answer.multiValue ? /[^;\p{White_Space}]/u : /\P{White_Space}/u;
  answer.blank ??= !other.test(answer.value);
  return answer.blank;
}

/** A value as it is compared: a day, a number, or neither. */
function orderOf(value) {
  if (isDay(value)) {
    return { kind: "day", value };
  }
  return /^-?[0-9]+(\.[0-9]+)?$/.test(value) ? { kind: "number", value: Number(value) } : { kind: "none" };
}

/** A real calendar day, yyyy-MM-dd. There is no year 0. */
function isDay(value) {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value) || value < "0001") {
    return false;
  }
  const date = new Date(value); // some engines take February 30 for March 1 or 2
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}

/** Negative, zero or positive; NaN where there is no order between the two. Days sort as text. */
function compare(a, b) {
  if (a.kind !== b.kind || a.kind === "none") {
    return NaN;
  }
  return Number(a.value > b.value) - Number(a.value < b.value);
}
