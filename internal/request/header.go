package request

import "net/http"

// noStore is never written to, which saves the allocation that Set makes.
var noStore = []string{"no-store"}

// SetNoStore keeps caches from storing an answer.
func SetNoStore(h http.Header) { h["Cache-Control"] = noStore }
