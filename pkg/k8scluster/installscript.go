package k8scluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/remote"
)

// Phases of an installation script (GYBE_PHASE).
const (
	phasePrepare = "prepare"
	phaseInit    = "init"
	phaseJoin    = "join"
	phaseTokens  = "tokens"
	phaseRefresh = "refresh"
	phaseDetach  = "detach" // no script's: of the runner of legacy scripts
	phaseUpgrade = "upgrade"
	phaseNetwork = "network"
)

var (
	requiredPhases = []string{phasePrepare, phaseInit, phaseJoin, phaseTokens, phaseRefresh}
	knownPhases    = append(slices.Clone(requiredPhases), phaseUpgrade, phaseNetwork)
)

const (
	maxScript  = 1 << 20
	maxLibrary = 50 // files
)

// installScript is a package's installation script with its capabilities.
type installScript struct {
	path    string
	content []byte
	library []remote.File
	// phases that the script can do one by one; a legacy script has none and does all its work in one run.
	phases []string
	// kubernetes and cilium are the versions that the script installs unless it gets others; "" when they are not
	// known.
	kubernetes, cilium string
}

func (s installScript) phased() bool { return len(s.phases) > 0 }

func (s installScript) has(phase string) bool { return slices.Contains(s.phases, phase) }

// manifest is the file beside a script that declares the script's capabilities: Scripts/install.yaml for
// Scripts/install.sh.
type manifest struct {
	// Phases are the values of GYBE_PHASE that the script knows.
	Phases []string `yaml:"phases"`
	// Library is a folder beside the script. Its files are copied to the node under the folder's name.
	Library string `yaml:"library"`
	// KubernetesVersion and CiliumVersion are the values of K8S_VERSION and CILIUM_VERSION when the request has none.
	KubernetesVersion string `yaml:"kubernetes_version"`
	CiliumVersion     string `yaml:"cilium_version"`
}

// loadScript reads an installation script and its capabilities from a package.
func loadScript(pkg fs.FS, name string) (installScript, error) {
	s := installScript{path: name}
	var err error
	if s.content, err = readScript(pkg, name); err != nil {
		return s, err
	}
	at := manifestPath(name)
	if _, err := fs.Stat(pkg, at); errors.Is(err, fs.ErrNotExist) {
		s.infer()
		return s, nil
	}
	raw, err := readScript(pkg, at)
	if err != nil {
		return s, err
	}
	if err := s.declare(pkg, raw); err != nil {
		return s, fmt.Errorf("its manifest %q is invalid: %w", at, err)
	}
	return s, nil
}

// manifestPath is the place of a script's manifest.
func manifestPath(script string) string {
	clean := path.Clean(script)
	return strings.TrimSuffix(clean, path.Ext(clean)) + ".yaml"
}

// declare takes the capabilities from the script's manifest.
func (s *installScript) declare(pkg fs.FS, raw []byte) error {
	var m manifest
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, p := range m.Phases {
		if !slices.Contains(knownPhases, p) {
			return fmt.Errorf("unknown phase %q, the phases are %s", p, strings.Join(knownPhases, ", "))
		}
	}
	for _, p := range requiredPhases {
		if len(m.Phases) > 0 && !slices.Contains(m.Phases, p) {
			return fmt.Errorf(
				"the phase %s is missing; a script with phases has at least %s", p, strings.Join(requiredPhases, ", "),
			)
		}
	}
	if m.KubernetesVersion != "" && !versionText.MatchString(m.KubernetesVersion) {
		return fmt.Errorf("kubernetes_version %q is not like 1.34 or 1.34.2", m.KubernetesVersion)
	}
	if m.CiliumVersion != "" && !ciliumText.MatchString(m.CiliumVersion) {
		return fmt.Errorf("cilium_version %q is not like 1.18.4", m.CiliumVersion)
	}
	s.phases, s.kubernetes, s.cilium = m.Phases, m.KubernetesVersion, m.CiliumVersion
	return s.readLibrary(pkg, m.Library)
}

// readLibrary reads the files that are copied to nodes with the script.
func (s *installScript) readLibrary(pkg fs.FS, folder string) error {
	if folder == "" {
		return nil
	}
	if folder != path.Base(folder) || !fs.ValidPath(folder) || folder == "." {
		return fmt.Errorf("library %q is not the name of a folder beside the script", folder)
	}
	dir := path.Join(path.Dir(path.Clean(s.path)), folder)
	entries, err := fs.ReadDir(pkg, dir)
	if err != nil {
		return fmt.Errorf("the package has no folder %q", dir)
	}
	if len(entries) > maxLibrary {
		return fmt.Errorf("%q has more than %d files", dir, maxLibrary)
	}
	for _, e := range entries {
		raw, err := readScript(pkg, path.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		s.library = append(s.library, remote.File{Name: folder + "/" + e.Name(), Mode: 0o600, Content: raw})
	}
	return nil
}

// readScript reads a file of bounded length from the package.
func readScript(pkg fs.FS, name string) ([]byte, error) {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) {
		return nil, fmt.Errorf("%q is not a path in the package", name)
	}
	info, err := fs.Stat(pkg, clean)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the package has no file %q", clean)
	}
	if info.Size() > maxScript {
		return nil, fmt.Errorf("%q is longer than %d bytes", clean, maxScript)
	}
	return fs.ReadFile(pkg, clean)
}
