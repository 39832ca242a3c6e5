package rest

import "net/http"

// WriteFault writes an error as Nova and Cinder do: {"<kind>": {"code": …, "message": …}}.
func WriteFault(w http.ResponseWriter, _ *http.Request, e *Error) {
	kind := map[int]string{
		http.StatusBadRequest: "badRequest", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
		http.StatusNotFound: "itemNotFound", http.StatusMethodNotAllowed: "badMethod",
		http.StatusConflict: "conflictingRequest", http.StatusRequestEntityTooLarge: "overLimit",
		http.StatusTooManyRequests: "overLimit", http.StatusNotImplemented: "notImplemented",
		http.StatusServiceUnavailable: "serviceUnavailable",
	}[e.Status]
	if kind == "" {
		kind = "computeFault"
	}
	details := Obj{"code": e.Status, "message": e.Message}
	if e.Status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Retry-After", "0")
		details["retryAfter"] = "0"
	}
	WriteJSON(w, e.Status, Obj{kind: details})
}
