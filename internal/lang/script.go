package lang

import "regexp"

// scriptCalls are those of t and tn in scripts: their name, and one or two texts.
var scriptCalls = regexp.MustCompile(`\b(tn?)\(\s*("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?`)
