package login

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
)

// callbackPath is where the provider sends the browser.
const callbackPath = "/callback"

// callback is what comes back from the provider.
type callback struct {
	code string
	err  error
}

// callbackHandler takes the code of the login with this state, once. Requests of other pages are rejected.
func callbackHandler(state string, out chan<- callback) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != callbackPath ||
			subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			http.Error(w, "this is not the answer to the login of gybe", http.StatusBadRequest)
			return
		}
		got := callback{code: q.Get("code")}
		if reason := q.Get("error"); reason != "" {
			got = callback{err: fmt.Errorf("%.80s %.200s", reason, q.Get("error_description"))}
		} else if got.code == "" {
			got = callback{err: errors.New("the answer has no code")}
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "You are logged in. You can close this page."
		if got.err != nil {
			text = "The login has failed. The terminal has the reason."
		}
		_, _ = w.Write([]byte(text)) // the browser may have left
		select {
		case out <- got:
		default: // a second answer
		}
	})
}
