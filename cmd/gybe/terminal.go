package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// readSecret reads a line from the terminal without showing it.
func readSecret() (string, error) {
	raw, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(os.Stderr)
	return string(raw), err
}

// openBrowser opens an address, if the machine has a browser. The address is shown in any case.
func openBrowser(url string) {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return // the provider chooses the address
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.CommandContext(context.Background(), program, url)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
