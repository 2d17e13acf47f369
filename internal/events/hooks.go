// Package events tells webhooks, and people by mail, of changes of submissions.
package events

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/limit"

	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/store"
)

const (
	maxHooksFile = 1 << 20 // bytes; of a file with a secret, too
	maxHooks     = 100
	maxItems     = 1000 // of pages, forms or events
	maxNesting   = 10   // of YAML; hooks need 4
)

// Hook is a webhook as the operator has set it up.
type Hook struct {
	Name          string
	url           string
	secret        []byte
	secretFile    string
	pages         []int64  // nil for all, as in forms and events
	forms, events []string // ids and types
	submission    bool     // the body has the submission
	allowPrivate  bool     // private addresses may be called
}

var (
	hookName   = matches(`[A-Za-z0-9_-]{1,64}`)
	isKey      = matches(`[A-Za-z_-]{1,20}`)
	eventTypes = []string{store.SubmissionCreated, store.SubmissionUpdated, store.SubmissionDeleted}
)

// LoadHooks reads the hooks of a file. A mistake in it is an error "FILE:LINE: …", which
// shows neither a secret nor a url.
func LoadHooks(file string) ([]Hook, error) {
	content, err := reload.ReadFile(file, maxHooksFile)
	if err != nil {
		return nil, fmt.Errorf("read the hooks file: %w", err)
	}
	hooks, err := parseHooks(content, filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return hooks, nil
}

// mistake returns an error at a line.
func mistake(line int, format string, args ...any) error {
	return fmt.Errorf("%d: %w", max(line, 1), fmt.Errorf(format, args...))
}

func parseHooks(content []byte, dir string) (hooks []Hook, err error) {
	var document yaml.Node
	if err := yaml.Load(content, &document, yaml.WithPlugin(limit.New(limit.DepthValue(maxNesting)))); err != nil {
		at := &yaml.LoadError{}
		_ = errors.As(err, &at) // its message may quote a secret
		return nil, mistake(at.Mark.Line, `this is not one YAML document that begins with "hooks:": `+
			`check indentation, colons, quotes and brackets`)
	}
	root := document.Content[0]
	top := root.Content
	isHooks := root.Kind == yaml.MappingNode && len(top) == 2 && top[0].Value == "hooks"
	if !isHooks || top[1].Kind != yaml.SequenceNode || len(top[1].Content) > maxHooks {
		return nil, mistake(root.Line, `write "hooks:" and a list of at most %d hooks, and no other key`, maxHooks)
	}
	lines := map[string]int{} // by name
	for _, n := range top[1].Content {
		hook, err := parseHook(n, dir)
		if err != nil {
			return nil, err
		}
		if first := lines[hook.Name]; first != 0 {
			return nil, mistake(n.Line, "name: the hook on line %d has the same one: use another", first)
		}
		lines[hook.Name] = n.Line
		hooks = append(hooks, hook)
	}
	return hooks, nil
}

func parseHook(n *yaml.Node, dir string) (h Hook, err error) {
	texts := map[string][]string{} // by key
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if texts[key.Value], err = readTexts(key, value, texts[key.Value] != nil); err != nil {
			return h, err
		}
		if key.Value != "secretFile" {
			continue
		}
		if h.secretFile = value.Value; !filepath.IsAbs(h.secretFile) {
			h.secretFile = filepath.Join(dir, h.secretFile)
		}
		content, err := reload.ReadFile(h.secretFile, maxHooksFile)
		if h.secret = parseSecret(strings.TrimSpace(string(content))); err == nil && h.secret == nil {
			err = errors.New("the file must have the base64 of 24 to 64 bytes, with or without whsec_")
		}
		if err != nil {
			return h, mistake(value.Line, "secretFile: %w", err)
		}
	}
	if texts["name"] == nil || texts["url"] == nil || (texts["secret"] == nil) == (h.secret == nil) {
		return h, mistake(n.Line, "a hook needs name, url, and either secret or secretFile")
	}
	for _, text := range texts["secret"] {
		h.secret = parseSecret(text)
	}
	for _, text := range texts["pages"] {
		page, _ := strconv.ParseInt(text, 10, 64) // which was checked
		h.pages = append(h.pages, page)
	}
	h.Name, h.url, h.forms, h.events = texts["name"][0], texts["url"][0], texts["forms"], texts["events"]
	h.submission = slices.Contains(texts["body"], "submission")
	h.allowPrivate = slices.Contains(texts["allowPrivate"], "true")
	return h, nil
}

// hookKeys are the keys of a hook, and which values they take.
var hookKeys = map[string]struct {
	valid  func(text string) bool
	advice string
}{
	"name":         {isHookName, "use letters, digits, - and _, at most 64 of them, and not mail"},
	"url":          {isCallable, "write an address such as https://example.org/path, with http or https"},
	"secret":       {isSecret, "write the base64 of 24 to 64 bytes, with or without whsec_"},
	"secretFile":   {isPath, "write the path of a file, or use secret: this is a secret itself"},
	"pages":        {matches(`[1-9][0-9]{0,17}`), "write the numbers of pages, such as [101]"},
	"forms":        {matches(`(?s).+`), "write the ids of forms, such as [feedback]"},
	"events":       {matches(strings.Join(eventTypes, "|")), "use " + strings.Join(eventTypes, ", ")},
	"body":         {matches("ids|submission"), "use ids or submission"},
	"allowPrivate": {matches("true|false"), "use true or false"},
}

func matches(pattern string) func(string) bool {
	return regexp.MustCompile("^(" + pattern + ")$").MatchString
}

// readTexts returns the value of a key, or those of its list. Its errors do not repeat a value.
func readTexts(key, value *yaml.Node, again bool) (texts []string, err error) {
	rule, known := hookKeys[key.Value]
	if !known {
		name := ""
		if isKey(key.Value) { // otherwise it may be a secret in the wrong place
			name = key.Value + ": "
		}
		return nil, mistake(key.Line, "%sthere is no such key: "+
			"use name, url, secret, secretFile, pages, forms, events, body and allowPrivate", name)
	}
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode && slices.Contains([]string{"pages", "forms", "events"}, key.Value) {
		items = value.Content
	}
	if again || len(items) == 0 || len(items) > maxItems {
		return nil, mistake(key.Line, "%s: write it once, with 1 to %d values, or leave it out", key.Value, maxItems)
	}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || !rule.valid(item.Value) {
			return nil, mistake(item.Line, "%s: %s", key.Value, rule.advice)
		}
		texts = append(texts, item.Value)
	}
	return texts, nil
}

func isHookName(text string) bool { return hookName(text) && text != store.MailHook }

func isSecret(text string) bool { return parseSecret(text) != nil }

func isPath(text string) bool { return !isSecret(text) && !strings.HasPrefix(text, "whsec_") }

func isCallable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return false
	}
	_, err = strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil
}

// parseSecret returns nil for what is none.
func parseSecret(text string) []byte {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(secret) < 24 || len(secret) > 64 {
		return nil
	}
	return secret
}
