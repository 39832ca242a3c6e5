package cloud

// answerError reports an answer that exceeds a limit.
type answerError struct{ text string }

// Error implements error.
func (e *answerError) Error() string { return e.text }
