package sol

// ProblemDetails is the body of every error response (SOL013 §6.3, RFC 7807),
// media type application/problem+json. The members after Instance are
// extensions of this product; RFC 7807 allows them and consumers ignore what
// they do not know.
type ProblemDetails struct {
	Type     string `json:"type,omitempty"`
	Title    string `json:"title,omitempty"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance,omitempty"`

	// InvalidParams lists the members of the request that are wrong.
	InvalidParams []InvalidParam `json:"invalidParams,omitempty"`
	// Hint says in one sentence what the user can do about it.
	Hint string `json:"hint,omitempty"`
	// VnfInstanceID and VnfLcmOpOccID name the resources the problem is about.
	VnfInstanceID string `json:"vnfInstanceId,omitempty"`
	VnfLcmOpOccID string `json:"vnfLcmOpOccId,omitempty"`
}

// InvalidParam points to one wrong member of a request body.
type InvalidParam struct {
	// Pointer is a JSON pointer (RFC 6901) into the request body.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}
