package cli

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// envPackagePassword is the variable with the password, or the secret of the OAuth 2.0 client, for a download.
const envPackagePassword = "GYBE_PACKAGE_PASSWORD"

// packageSource is what the flags of an upload say about the other server.
type packageSource struct{ user, passwordFile, clientID, tokenEndpoint string }

func (a *app) packageUpload() *cobra.Command {
	var id string
	var data, ignore []string
	var from packageSource
	cmd := &cobra.Command{
		Use:   "upload FILE.zip|URL",
		Short: "Onboard a package: create its resource, upload it and wait until it is checked",
		Long: `Onboard a package: create its resource, upload it and wait until it is checked. If
it is rejected, the reason is shown and the resource stays; --id uploads a corrected archive to it.

Of a URL (http:// or https://), the server downloads the package. A password, or the secret of an
OAuth 2.0 client, is read from the variable ` + envPackagePassword + ` or with --password-file.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&id, "id", "", "upload to this package instead of creating a new one")
	cmd.Flags().StringArrayVar(&data, "user-data", nil, "userDefinedData as key=value; can be repeated")
	cmd.Flags().StringArrayVar(&ignore, "ignore-mgmt-driver", nil, "ignore this mgmt driver of the VNFD if Gybe does "+
		"not have it: its work is not done; can be repeated")
	cmd.Flags().StringVar(&from.user, "user", "", "user name for the server of a URL")
	cmd.Flags().StringVar(&from.passwordFile, "password-file", "", "file with the password, or - for standard input")
	cmd.Flags().StringVar(&from.clientID, "client-id", "", "OAuth 2.0 client for the server of a URL")
	cmd.Flags().StringVar(&from.tokenEndpoint, "token-endpoint", "", "where the OAuth 2.0 client gets its tokens")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		user, err := keyValues("--user-data", data)
		if err != nil {
			return err
		}
		if len(ignore) > 0 {
			if user == nil {
				user = sol.KeyValuePairs{}
			}
			user[lcm.KeyIgnoreMgmtDrivers] = ignore
		}
		send, digest, done, err := a.packageContent(args[0], from)
		if err != nil {
			return err
		}
		defer done()
		c, err := a.client()
		if err != nil {
			return err
		}
		var p *sol.VnfPkgInfo
		if id == "" {
			if p, err = onboardedContent(cmd.Context(), c, digest); err != nil {
				return err
			}
		}
		if p != nil {
			printline(a.env.Stderr, "this archive is onboarded already, as the package "+p.ID)
		} else if p, err = a.upload(cmd.Context(), c, args[0], id, user, send); err != nil {
			return err
		}
		return a.show(p, func(w io.Writer) { a.packageTable(w, p) })
	}
	return cmd
}

// sendContent sends the content of a package, or the server to where it is.
type sendContent = func(ctx context.Context, c *client.Client, id string) error

// packageContent opens a file, or reads the credentials for a URL. digest is the SHA-512 of the file, "" for a URL.
// done MUST be called afterwards.
func (a *app) packageContent(
	name string, from packageSource,
) (_ sendContent, digest string, done func(), err error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		src, err := a.sourceOf(name, from)
		return func(ctx context.Context, c *client.Client, id string) error {
			return c.UploadPackageFrom(ctx, id, src)
		}, "", func() {}, err
	}
	if from != (packageSource{}) {
		return nil, "", nil, usagef("%s is a file; credentials are for a URL", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, "", nil, usagef("%s", err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // only opened
		return nil, "", nil, usagef(
			"%s is a directory; create a package with gybe package build %s -o FILE.zip", name, name,
		)
	}
	sum := sha512.New()
	if _, err = io.Copy(sum, f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, "", nil, fmt.Errorf("read %s: %w", name, err)
	}
	return func(ctx context.Context, c *client.Client, id string) error { return c.UploadPackage(ctx, id, f) },
		hex.EncodeToString(sum.Sum(nil)), func() { _ = f.Close() }, nil // only read
}

// onboardedContent finds the onboarded package of the project with this content; nil if there is none.
func onboardedContent(ctx context.Context, c *client.Client, digest string) (*sol.VnfPkgInfo, error) {
	if digest == "" {
		return nil, nil //nolint:nilnil // none is known
	}
	found, err := c.Packages(ctx, "(eq,onboardingState,ONBOARDED);(eq,checksum/hash,"+digest+")", true)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	shared, err := sharedPackages(ctx, c)
	for i := range found {
		if shared[found[i].ID] != sharedByOther {
			return &found[i], err
		}
	}
	return nil, err
}

// sourceOf makes the request for a download.
func (a *app) sourceOf(address string, from packageSource) (sol.UploadVnfPackageFromUriRequest, error) {
	src := sol.UploadVnfPackageFromUriRequest{AddressInformation: address}
	if from.user == "" && from.clientID == "" {
		if from.passwordFile != "" || from.tokenEndpoint != "" {
			return src, usagef("give --user, or --client-id and --token-endpoint")
		}
		return src, nil
	}
	if from.user != "" && from.clientID != "" {
		return src, usagef("--user and --client-id exclude each other")
	}
	password := a.env.get(envPackagePassword)
	if from.passwordFile != "" {
		raw, err := a.readFile(from.passwordFile)
		if err != nil {
			return src, err
		}
		password = strings.TrimRight(string(raw), "\r\n")
	}
	if password == "" {
		return src, usagef("no password: set %s, or use --password-file", envPackagePassword)
	}
	if from.user != "" {
		src.UserName, src.Password = from.user, password
		return src, nil
	}
	if from.tokenEndpoint == "" {
		return src, usagef("--client-id requires --token-endpoint")
	}
	src.AuthType = string(sol.AuthTypeOauth2ClientCredentials)
	src.ParamsOauth2ClientCredentials = &sol.ParamsOauth2ClientCredentials{
		ClientID: from.clientID, ClientPassword: password, TokenEndpoint: from.tokenEndpoint,
	}
	return src, nil
}

// upload sends the content of a package and waits until it is onboarded or refused.
func (a *app) upload(
	ctx context.Context, c *client.Client, name, ref string, user sol.KeyValuePairs, send sendContent,
) (*sol.VnfPkgInfo, error) {
	var id string
	if ref == "" {
		p, err := c.CreatePackage(ctx, sol.CreateVnfPkgInfoRequest{UserDefinedData: user})
		if err != nil {
			return nil, err
		}
		id = p.ID
	} else {
		var err error
		if id, err = pickPackage(ctx, c, ref); err != nil {
			return nil, err
		}
		if len(user) > 0 {
			if err := c.UpdatePackage(ctx, id, sol.VnfPkgInfoModifications{UserDefinedData: user}); err != nil {
				return nil, err
			}
		}
	}
	again := fmt.Sprintf("  correct it and run: gybe package upload --id %s %s\n  or delete it: gybe package delete %s",
		id, name, id)
	if err := send(ctx, c, id); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, again)
	}
	shown := ""
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		p, err := c.Package(ctx, id)
		if err != nil {
			return nil, err
		}
		switch p.OnboardingState {
		case sol.PackageOnboardingStateOnboarded:
			return p, nil
		case sol.PackageOnboardingStateCreated, sol.PackageOnboardingStateError:
			return nil, fmt.Errorf("%w\n%s", refused(p), again)
		case sol.PackageOnboardingStateUploading:
			if text := downloadProgress(ctx, c, id); text != shown && text != "" {
				shown = text
				printline(a.env.Stderr, text)
			}
		case sol.PackageOnboardingStateProcessing:
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// downloadProgress says how far the download of a package is; "" when it is not downloaded, or nothing is known.
func downloadProgress(ctx context.Context, c *client.Client, id string) string {
	d, err := c.PackageDownload(ctx, id)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("%d bytes", d.Received)
	if d.Total > 0 {
		text = fmt.Sprintf("%d of %d bytes (%d %%)", d.Received, d.Total, 100*d.Received/d.Total)
	}
	text = fmt.Sprintf("downloaded %s from %s", text, d.Address)
	if d.Reason != "" {
		text += fmt.Sprintf("; attempt %d failed: %s", d.Attempts, d.Reason)
	}
	return text
}
