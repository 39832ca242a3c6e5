package cli

import (
	"fmt"
	"io"
)

// printf and printline write for a person; a closed pipe is not an error.
func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

func printline(w io.Writer, args ...any) { _, _ = fmt.Fprintln(w, args...) }
