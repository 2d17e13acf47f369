// The recommended rules, for each script with the globals of where it runs.
import js from "@eslint/js";
import globals from "globals";

const pages = ["internal/web/static/*.js", "e2e/browser/testdata/*.js"];

export default [
  js.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  { files: pages, languageOptions: { globals: globals.browser } },
  { files: ["internal/web/static/{embed,frame}.js"], languageOptions: { sourceType: "script" } },
  { ignores: pages, languageOptions: { globals: globals.node } },
];
