package cli

import (
	"fmt"
	"io"
)

// printf and printline write for a person; one who has closed the pipe wants no more.
func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

func printline(w io.Writer, args ...any) { _, _ = fmt.Fprintln(w, args...) }
