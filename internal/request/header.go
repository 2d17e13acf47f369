package request

import "net/http"

// noStore is shared by all responses to save the slice that Header.Set allocates.
// Do not modify it.
var noStore = []string{"no-store"}

// SetNoStore keeps caches from storing an answer.
func SetNoStore(h http.Header) { h["Cache-Control"] = noStore }
