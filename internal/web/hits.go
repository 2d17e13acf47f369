package web

import (
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
)

// marked is a text in which a search may have found something.
type marked struct {
	Text string
	Hits []hit // the same text; nil if nothing was found in it
}

// hit is a part of a text that a search has found, or one between two of them.
type hit struct {
	Text  string
	Found bool
}

// mark finds a folded text, at most maxHits times. An empty one is nowhere.
func mark(text, search string) marked {
	m := marked{Text: text}
	if search == "" {
		return m
	}
	for range maxHits {
		start, end := query.FindFold(text, search)
		if start < 0 {
			break
		}
		m.Hits = append(m.Hits, hit{text[:start], false}, hit{text[start:end], true})
		text = text[end:]
	}
	if m.Hits != nil {
		m.Hits = append(m.Hits, hit{text, false})
	}
	return m
}

// fromHit leaves out the beginning of a text whose first hit would not be in view.
func fromHit(text, search string) string {
	if search == "" || len(text) <= 2*hitLead {
		return text
	}
	start, _ := query.FindFold(text, search)
	if start <= 2*hitLead {
		return text
	}
	return "…" + text[len(forms.CutText(text, start-hitLead)):]
}
