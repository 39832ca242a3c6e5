package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// signFlags are the flags of package sign.
type signFlags struct {
	key, cert, passphrase, out, option, at string
	artifacts                              bool
}

func (a *app) packageSign() *cobra.Command {
	var f signFlags
	cmd := &cobra.Command{
		Use: "sign FOLDER|ARCHIVE --key KEY.pem --cert CERT.pem", Short: "Create a signed copy of a package",
		Long: `Create a signed copy of a package (SOL004), after the server's checks.

Option 1 writes the hashes of all files to the manifest, and the signature to its end. A package
without manifest gets one. Option 2 puts the archive as it is into a zip file, with its signature and
the certificate; use it for packages that are signed already.

The certificate's file can also hold those of its chain. No server is used. The same files, key and
--time give the same bytes; SOURCE_DATE_EPOCH is the default of --time.`,
		Args: cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "private key in PEM; other users must not be able to read it")
	flags.StringVar(&f.cert, "cert", "", "certificate of the key in PEM, and those of its chain")
	flags.StringVar(&f.passphrase, "passphrase-file", "", "file with the passphrase of the key; asked for by default")
	flags.StringVarP(&f.out, "file", "f", "", "archive to write; default: the package's name with -signed.zip")
	flags.StringVar(&f.option, "option", "1", "security option of SOL004: 1 or 2")
	flags.BoolVar(&f.artifacts, "artifacts", false, "also sign the artifacts that the metadata list (option 1)")
	flags.StringVar(&f.at, "time", "", "signing time (RFC 3339); default: now")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.signing(f)
		if err != nil {
			return err
		}
		if _, err := os.Stat(args[0]); err != nil {
			return usagef("%s", err)
		}
		out := f.out
		if out == "" {
			abs, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			out = strings.TrimSuffix(filepath.Base(abs), filepath.Ext(filepath.Base(abs))) + "-signed.zip"
		}
		p, err := vnfpkg.Sign(cmd.Context(), args[0], out, s, vnfpkg.DefaultLimits())
		if err != nil {
			return badPackage(args[0], err)
		}
		a.warn(p)
		printf(
			a.env.Stdout, "%s: %s, signed by %s (option %s)\n", out, title(p), s.Identity.Certificate.Subject, f.option,
		)
		return nil
	}
	return cmd
}

// signing reads the key, and checks the flags.
func (a *app) signing(f signFlags) (vnfpkg.Signing, error) {
	s := vnfpkg.Signing{Artifacts: f.artifacts}
	switch {
	case f.key == "" || f.cert == "":
		return s, usagef("--key and --cert are required")
	case f.option == "1":
		s.Option = signature.Option1
	case f.option == "2" && f.artifacts:
		return s, usagef("--artifacts needs option 1")
	case f.option == "2":
		s.Option = signature.Option2
	default:
		return s, usagef("--option is %q; use 1 or 2", f.option)
	}
	var err error
	if s.Time, err = a.signingTime(f.at); err != nil {
		return s, err
	}
	s.Identity, err = a.readIdentity(f)
	return s, err
}

// signingTime is --time, SOURCE_DATE_EPOCH or now, in seconds.
func (a *app) signingTime(flag string) (time.Time, error) {
	if flag != "" {
		at, err := time.Parse(time.RFC3339, flag)
		if err != nil {
			return at, usagef("--time is %q; use a time such as 2026-11-23T10:00:00Z", flag)
		}
		return at, nil
	}
	if epoch := a.env.get("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, usagef("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	return time.Now().UTC().Truncate(time.Second), nil
}

func (a *app) readIdentity(f signFlags) (cms.Identity, error) {
	key, err := readPrivate(f.key)
	if err != nil {
		return cms.Identity{}, err
	}
	certificates, err := os.ReadFile(f.cert)
	if err != nil {
		return cms.Identity{}, usagef("%s", err)
	}
	id, err := signature.ReadIdentity(key, certificates, func() (string, error) {
		if f.passphrase == "" {
			return a.readSecret("Passphrase of " + f.key + ": ")
		}
		text, err := readPrivate(f.passphrase)
		return strings.TrimRight(string(text), "\r\n"), err
	})
	if err != nil {
		return id, usagef("%s, %s: %s", f.key, f.cert, err)
	}
	return id, nil
}

// readPrivate reads a file that only its owner may read.
func readPrivate(name string) (_ []byte, err error) {
	const others, maxBytes = 0o077, 1 << 20
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("%s", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Mode().IsRegular() && info.Mode().Perm()&others != 0:
		return nil, usagef(
			"%s can be used by other users (mode %04o); run: chmod 600 %s", name, info.Mode().Perm(), name,
		)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err == nil && len(data) == 0 {
		err = usagef("%s is empty", name)
	}
	return data, err
}
