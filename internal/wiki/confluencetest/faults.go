package confluencetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Fault answers a request instead of next, which answers as it should.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// On is a fault of some paths alone: those that contain a text.
func On(part string, f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, part) {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// JSON answers with a text as JSON, whatever was asked.
func JSON(status int, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// HTML answers with a page for people.
func HTML(status int, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { page(w, status, text) }
}

// With adds a header to what a fault answers.
func With(name, value string, f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set(name, value)
		f(w, r, next)
	}
}

// As answers as somebody else would be answered; "" is an anonymous user.
func As(name string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r.WithContext(as(r.Context(), name)))
	}
}

// Captcha refuses passwords until a CAPTCHA is solved.
func Captcha(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if _, _, ok := r.BasicAuth(); !ok {
		next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("X-Seraph-LoginReason", "AUTHENTICATION_DENIED")
	w.Header().Set("X-Authentication-Denied-Reason", "CAPTCHA_CHALLENGE; login-url=http://localhost/login.action")
	page(w, http.StatusForbidden, "Basic Authentication Failure - Reason : AUTHENTICATION_DENIED")
}

// PasswordsOff refuses all passwords.
func PasswordsOff(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if _, _, ok := r.BasicAuth(); !ok {
		next.ServeHTTP(w, r)
		return
	}
	answerJSON(w, http.StatusForbidden, object{"message": "Basic Authentication has been disabled on this instance."})
}

// Loop redirects to itself.
func Loop(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound) // to the same host
}

// Redirect redirects to a page for signing in.
func Redirect(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	http.Redirect(w, r, Base+"/login.action", http.StatusFound)
}

// Half answers with the first half of what it should.
func Half(w http.ResponseWriter, r *http.Request, next http.Handler) {
	whole := httptest.NewRecorder()
	next.ServeHTTP(whole, r)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
}

// Torn is Half, and the connection breaks.
func Torn(w http.ResponseWriter, r *http.Request, next http.Handler) {
	Half(w, r, next)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Slow does not answer until the client goes away.
func Slow(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// Drip answers with a byte now and then, until the client goes away.
func Drip(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		_, _ = w.Write([]byte(" "))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Huge answers with 100 MB.
func Huge(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, `{"type":"known","username":"`)
	part := []byte(strings.Repeat("a", 1<<20))
	for range 100 {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
	_, _ = fmt.Fprint(w, `"}`)
}
