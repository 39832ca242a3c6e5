package csar

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// MetaPath is where TOSCA.meta is in a package.
const MetaPath = "TOSCA-Metadata/TOSCA.meta"

// Info is the content of a package's metadata, checked against its directory.
type Info struct {
	// Entry is the path of the main VNFD file; it exists.
	Entry string
	// OtherDefinitions are definition files that TOSCA.meta names beside the entry; they exist.
	OtherDefinitions []string
	// HasMeta means that TOSCA.meta exists; Manifest is the path of the .mf file, "" if it does not exist.
	HasMeta  bool
	Manifest string
	// Certificate is the path of the signing certificate that TOSCA.meta names, "" for none.
	Certificate string
	// Signed means that the manifest has a signature. Signatures are not verified.
	Signed bool
	// CompatibleVersions are the SOL004 versions that the manifest claims.
	CompatibleVersions []string
	// External are files on other servers that the metadata list, the first ones.
	External []External

	declared []declared
}

// declared is an entry of a metadata file for one file.
type declared struct {
	Listed
	name      string // clean path; it exists
	algorithm string // standard name, "" when no hash is declared
	sum       string // lower case
	from      string // the metadata file
}

// SecurityOf returns the paths of the signatures and certificates that the metadata name for single files, sorted. They
// need not exist.
func (i Info) SecurityOf(files ...string) []string {
	wanted := make(map[string]bool, len(files))
	for _, f := range files {
		wanted[f] = true
	}
	var paths []string
	for _, d := range i.declared {
		if wanted[d.name] {
			for _, p := range []string{d.Signature, d.Certificate} {
				if p != "" {
					paths = append(paths, path.Clean(p))
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// mode is how strictly the metadata are checked.
type mode int

const (
	strict mode = iota // an archive: declared hashes must be correct
	source             // a folder: build computes the hashes of TOSCA.meta
)

func inspect(a *Archive, m mode) (Info, error) {
	info, listed, err := readMetadata(a)
	if err != nil {
		return Info{}, err
	}
	first := make(map[Sum]declared, len(listed))
	info.declared = make([]declared, 0, len(listed))
	for _, l := range listed {
		if itself, err := a.listsItself(l, info.Manifest); err != nil {
			return Info{}, err
		} else if itself {
			continue
		}
		if e, ok := externalOf(l); ok {
			if len(info.External) < maxExternal {
				info.External = append(info.External, e)
			}
			continue
		}
		fillable := m == source && (l.from == MetaPath || !info.Signed)
		d, err := a.check(l.Listed, l.from, fillable)
		if err != nil {
			return Info{}, err
		}
		key := Sum{d.name, d.algorithm}
		if o, ok := first[key]; !ok {
			first[key] = d
		} else if o.sum != d.sum {
			return Info{}, &Rejection{
				Reason: BadMetadata, File: d.from, Line: d.Line,
				Detail: fmt.Sprintf("%s is listed here and in %s with different %s hashes", printable(d.name),
					place(o.from, o.Line), d.algorithm),
			}
		}
		info.declared = append(info.declared, d)
	}
	return info, nil
}

type listedIn struct {
	Listed
	from string
}

// readMetadata finds the main VNFD file and everything that the metadata files list.
func readMetadata(a *Archive) (Info, []listedIn, error) {
	var (
		info   Info
		listed []listedIn
		meta   = &Meta{}
	)
	if a.Has(MetaPath) {
		data, err := a.ReadText(MetaPath)
		if err != nil {
			return info, nil, err
		}
		if meta, err = ParseMeta(data); err != nil {
			return info, nil, err
		}
		info.HasMeta = true
		listed = make([]listedIn, 0, len(meta.Listed))
		for _, l := range meta.Listed {
			listed = append(listed, listedIn{l, MetaPath})
		}
	}
	if err := a.findDefinitions(&info, meta); err != nil {
		return info, nil, err
	}
	if err := a.findManifest(&info, meta); err != nil {
		return info, nil, err
	}
	if info.Manifest != "" {
		data, err := a.ReadText(info.Manifest)
		if err != nil {
			return info, nil, err
		}
		mf, err := ParseManifest(data, info.Manifest)
		if err != nil {
			return info, nil, err
		}
		info.Signed, info.CompatibleVersions = mf.Signed, mf.CompatibleVersions()
		listed = slices.Grow(listed, len(mf.Listed))
		for _, l := range mf.Listed {
			listed = append(listed, listedIn{l, info.Manifest})
		}
	}
	return info, listed, nil
}

// listsItself recognises the entry of a manifest for itself, which some packages have. It says nothing, because a file
// cannot contain its own hash (SOL004 clause 4.3.2 wants hashes of the other files).
func (a *Archive) listsItself(l listedIn, manifest string) (bool, error) {
	name, problem := cleanName(l.Path, a.lim)
	if problem != "" || l.from != manifest || name != manifest {
		return false, nil
	}
	if l.Hash != "" || l.Algorithm != "" {
		return false, &Rejection{
			Reason: BadChecksum, File: manifest, Line: l.Line,
			Detail: "the manifest lists itself with a hash, which cannot be right: the hash is a part of the file",
			Hint:   "remove Algorithm and Hash from this entry, or the entry",
		}
	}
	return l.Signature == "" && l.Certificate == "", nil
}

func (a *Archive) findDefinitions(info *Info, meta *Meta) error {
	if !info.HasMeta {
		entry, err := a.rootDefinition()
		info.Entry = entry
		return err
	}
	if meta.EntryDefinitions == "" {
		return reject(NoDefinitions, MetaPath, "the key Entry-Definitions is missing",
			"add \"Entry-Definitions: <path of the main VNFD file>\" to its first block")
	}
	var err error
	if info.Entry, err = a.checkNamedPath("Entry-Definitions", meta.EntryDefinitions); err != nil {
		return err
	}
	for _, other := range meta.OtherDefinitions {
		name, err := a.checkNamedPath("Other-Definitions", other)
		if err != nil {
			return err
		}
		info.OtherDefinitions = append(info.OtherDefinitions, name)
	}
	if meta.Certificate != "" {
		info.Certificate, err = a.checkNamedPath("ETSI-Entry-Certificate", meta.Certificate)
	}
	return err
}

// rootDefinition finds the main VNFD file of a package without TOSCA.meta: the only YAML file in its root.
func (a *Archive) rootDefinition() (string, error) {
	var found []string
	for _, f := range a.files {
		if !strings.Contains(f.name, "/") && isYAML(f.name) {
			found = append(found, f.name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", reject(NoDefinitions, "",
			"the package has neither "+MetaPath+" nor a YAML file in its root, so it has no VNFD", a.layoutHint())
	default:
		return "", reject(NoDefinitions, "", fmt.Sprintf(
			"the package has no %s, and %d YAML files in its root: %s", MetaPath, len(found), strings.Join(found, ", "),
		),
			"add "+MetaPath+" with the key Entry-Definitions")
	}
}

// layoutHint returns a hint for a package with a wrong layout.
func (a *Archive) layoutHint() string {
	for _, f := range a.files {
		if dir, ok := strings.CutSuffix(f.name, "/"+MetaPath); ok {
			return "the package is inside the directory " + printable(dir) +
				": pack the directory's content, not the directory"
		}
	}
	for _, f := range a.files {
		if ext := strings.ToLower(path.Ext(f.name)); !strings.Contains(f.name, "/") && (ext == ".csar" ||
			ext == ".zip") {
			return "the archive only wraps " + printable(f.name) + ": upload that file, or put only its signature " +
				"(.cms) and certificate (.cert) beside it (SOL004 option 2)"
		}
	}
	return "see SOL004 clause 4.1 for the two layouts of a package"
}

func (a *Archive) findManifest(info *Info, meta *Meta) error {
	if meta.Manifest != "" {
		name, err := a.checkNamedPath("ETSI-Entry-Manifest", meta.Manifest)
		if err != nil {
			return err
		}
		if path.Ext(name) != ".mf" {
			return reject(BadMetadata, MetaPath,
				"ETSI-Entry-Manifest names "+printable(name)+"; a manifest has the extension .mf", "")
		}
		info.Manifest = name
		return nil
	}
	name := strings.TrimSuffix(info.Entry, path.Ext(info.Entry)) + ".mf"
	if a.Has(name) {
		info.Manifest = name
	} else if !info.HasMeta {
		return reject(MissingFile, name,
			"the manifest is missing; a package without "+MetaPath+" has one beside its VNFD, of the same name", "")
	}
	return nil
}

// checkNamedPath checks a path in a key of TOSCA.meta.
func (a *Archive) checkNamedPath(key, value string) (string, error) {
	name, problem := cleanName(value, a.lim)
	if problem != "" {
		return "", reject(UnsafeName, MetaPath, key+" is "+printable(quote(value))+": "+problem, "")
	}
	if !a.Has(name) {
		return "", reject(MissingFile, name, "the file is not in the package, but "+key+" of "+MetaPath+" names it", "")
	}
	return name, nil
}

// check checks an entry of a metadata file and returns it as a declaration.
func (a *Archive) check(l Listed, from string, mayLackHash bool) (declared, error) {
	fail := func(reason Reason, detail, hint string) (declared, error) {
		return declared{}, &Rejection{Reason: reason, File: from, Line: l.Line, Detail: detail, Hint: hint}
	}
	if strings.Contains(l.Path, "://") {
		return fail(ExternalArtifact, "the artifact "+printable(l.Path)+" is outside of the package",
			"put the file in the package; nothing is fetched")
	}
	name, problem := cleanName(l.Path, a.lim)
	if problem != "" {
		return fail(UnsafeName, printable(quote(l.Path))+": "+problem, "")
	}
	if !a.Has(name) {
		return declared{}, reject(
			MissingFile, name, "the file is not in the package, but "+place(from, l.Line)+" lists it", "",
		)
	}
	d := declared{Listed: l, name: name, from: from}
	var ok bool
	switch {
	case mayLackHash && l.Algorithm == "", l.Hash == "" && l.Algorithm == "" && isImage(l):
		return d, nil
	case mayLackHash: // build computes the hash with this algorithm
	case l.Hash == "" || l.Algorithm == "":
		missing := "Algorithm and Hash"
		if l.Algorithm != "" {
			missing = "Hash"
		} else if l.Hash != "" {
			missing = "Algorithm"
		}
		return fail(MissingChecksum, printable(name)+" is listed without "+missing,
			"add Algorithm and Hash, or let gybe package build compute them")
	}
	if d.algorithm, ok = Algorithm(l.Algorithm); !ok {
		return fail(BadAlgorithm, printable(name)+" has a hash of the algorithm "+printable(quote(l.Algorithm)),
			"use one of "+algorithms)
	}
	if mayLackHash {
		return d, nil
	}
	if d.sum, problem = parseSum(d.algorithm, l.Hash); problem != "" {
		return fail(BadChecksum, printable(name)+": "+problem, "")
	}
	return d, nil
}

func isYAML(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// isImage recognises disk images, which existing packages list without a hash.
func isImage(l Listed) bool {
	switch strings.ToLower(path.Ext(l.Path)) {
	case ".img", ".qcow2", ".raw", ".iso", ".vmdk", ".vdi", ".vhd", ".vhdx", ".ova":
		return true
	}
	kind := strings.ToLower(l.ContentType)
	return strings.Contains(kind, "image") || strings.Contains(kind, "qcow")
}
