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
	hookName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
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
		return nil, mistake(at.Mark.Line, `this is not one YAML document that begins with "hooks:": check indentation, colons, quotes and brackets`)
	}
	top := document.Content[0].Content
	if document.Content[0].Kind != yaml.MappingNode || len(top) != 2 || top[0].Value != "hooks" || top[1].Kind != yaml.SequenceNode || len(top[1].Content) > maxHooks {
		return nil, mistake(document.Content[0].Line, `write "hooks:" and a list of at most %d hooks, and no other key`, maxHooks)
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
	seen := map[string]bool{}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		key, items := n.Content[i], []*yaml.Node{n.Content[i+1]}
		if items[0].Kind == yaml.SequenceNode && slices.Contains([]string{"pages", "forms", "events"}, key.Value) {
			items = items[0].Content
		}
		if seen[key.Value] || len(items) == 0 || len(items) > maxItems {
			return h, mistake(key.Line, "%s: write it once, with 1 to %d values, or leave it out", key.Value, maxItems)
		}
		seen[key.Value] = true
		for _, item := range items {
			text := item.Value
			if item.Kind != yaml.ScalarNode {
				text = "" // which no key takes
			}
			if err := h.set(key.Value, text, dir); err != nil {
				return h, mistake(item.Line, "%w", err)
			}
		}
	}
	if !seen["name"] || !seen["url"] || seen["secret"] == seen["secretFile"] {
		return h, mistake(n.Line, "a hook needs name, url, and either secret or secretFile")
	}
	return h, nil
}

// set takes a value of a key, those of a list one after the other. Its errors do not
// repeat the value.
func (h *Hook) set(key, text, dir string) (err error) {
	var valid bool
	var advice string
	switch key {
	case "name":
		h.Name, valid = text, hookName.MatchString(text) && text != store.MailHook
		advice = "use letters, digits, - and _, at most 64 of them, and not mail"
	case "url":
		h.url, valid = text, isCallable(text)
		advice = "write an address such as https://example.org/path, with http or https"
	case "secret":
		h.secret, valid = parseSecret(text)
		advice = "write the base64 of 24 to 64 bytes, with or without whsec_"
	case "secretFile":
		if _, isSecret := parseSecret(text); isSecret || strings.HasPrefix(text, "whsec_") {
			return errors.New("secretFile: write the path of a file, or use secret: this is a secret itself")
		}
		if h.secretFile = text; !filepath.IsAbs(text) {
			h.secretFile = filepath.Join(dir, text)
		}
		var content []byte
		content, err = reload.ReadFile(h.secretFile, maxHooksFile)
		h.secret, valid = parseSecret(strings.TrimSpace(string(content)))
		advice = "the file must have the base64 of 24 to 64 bytes, with or without whsec_"
	case "pages":
		page, parseErr := strconv.ParseInt(text, 10, 64)
		h.pages, valid = append(h.pages, page), parseErr == nil && page > 0
		advice = "write the numbers of pages, such as [101]"
	case "forms":
		h.forms, valid = append(h.forms, text), text != ""
		advice = "write the ids of forms, such as [feedback]"
	case "events":
		h.events, valid = append(h.events, text), slices.Contains(eventTypes, text)
		advice = "use " + strings.Join(eventTypes, ", ")
	case "body":
		h.submission, valid = text == "submission", text == "submission" || text == "ids"
		advice = "use ids or submission"
	case "allowPrivate":
		h.allowPrivate, valid = text == "true", text == "true" || text == "false"
		advice = "use true or false"
	default: // it may be a secret in the wrong place
		return errors.New("there is no such key: use name, url, secret, secretFile, pages, forms, events, body and allowPrivate")
	}
	if err == nil && !valid {
		err = errors.New(advice)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return err
}

func isCallable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return false
	}
	_, err = strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil
}

func parseSecret(text string) (secret []byte, valid bool) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	return secret, err == nil && len(secret) >= 24 && len(secret) <= 64
}
