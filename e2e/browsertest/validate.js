// Reads [{"name": …, "html": …}] from standard input and writes what is wrong in
// the documents to standard output, as a JSON list of lines.
import { readFileSync } from "node:fs";
import { HtmlValidate, StaticConfigLoader } from "html-validate";

const validator = new HtmlValidate(new StaticConfigLoader({
  root: true,
  extends: ["html-validate:recommended", "html-validate:a11y", "html-validate:document"],
  elements: ["html5"],
  rules: {
    // Checkboxes of one question have one name, as radios have.
    "form-dup-name": ["error", { shared: ["radio", "checkbox", "button", "reset", "submit"] }],
    "long-title": "off", // titles contain names that users have chosen
    "no-trailing-whitespace": "off", // it remains where a template has an action
    "require-sri": "off", // scripts and styles come from the same server as the page
  },
}));

const problems = [];
for (const { name, html } of JSON.parse(readFileSync(0, "utf8"))) {
  const report = await validator.validateString(html, name);
  for (const { messages } of report.results) {
    for (const m of messages) {
      problems.push(`${name}:${m.line}:${m.column}: ${m.message} (${m.ruleId})`);
    }
  }
}
process.stdout.write(JSON.stringify(problems));
