package csar_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
)

func sha256Of(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }

func sha512Of(s string) string { sum := sha512.Sum512([]byte(s)); return hex.EncodeToString(sum[:]) }

const script = "#!/bin/sh\necho hello\n"

func withMeta(blocks string, more ...entry) []entry {
	return append([]entry{
		{name: csar.MetaPath, body: meta + blocks},
		{name: "Definitions/top.yaml", body: "x: y\n"},
		{name: "Scripts/x.sh", body: script},
	}, more...)
}

func TestMetadataDefectsAreRejectedWithTheReason(t *testing.T) {
	t.Parallel()
	sum := sha256Of(script)
	block := func(lines ...string) string { return "\n" + strings.Join(lines, "\n") + "\n" }
	bare := func(entries ...entry) []entry { return entries }
	lim := csar.DefaultLimits()
	lim.TextBytes = 64 << 10

	tests := []struct {
		name    string
		entries []entry
		reason  csar.Reason
		file    string
		line    int
		detail  string
	}{
		{
			"no TOSCA.meta and no VNFD in the root", bare(stored("x.txt", "")), csar.NoDefinitions, "", 0,
			"neither TOSCA-Metadata/TOSCA.meta nor a YAML file",
		},
		{"empty archive", nil, csar.NoDefinitions, "", 0, "no VNFD"},
		{
			"several VNFDs in the root", bare(stored("a.yaml", ""), stored("b.yml", "")), csar.NoDefinitions, "", 0,
			"2 YAML files in its root: a.yaml, b.yml",
		},
		{"root VNFD without manifest", bare(stored("a.yaml", "")), csar.MissingFile, "a.mf", 0, "manifest is missing"},
		{
			"no Entry-Definitions", bare(stored(csar.MetaPath, "CSAR-Version: 1.1\n")), csar.NoDefinitions,
			csar.MetaPath, 0, "Entry-Definitions is missing",
		},
		{
			"Entry-Definitions that is not there", bare(stored(csar.MetaPath, meta)), csar.MissingFile,
			"Definitions/top.yaml", 0, "Entry-Definitions",
		},
		{
			"Entry-Definitions out of the package", bare(stored(csar.MetaPath, "Entry-Definitions: ../x.yaml\n")),
			csar.UnsafeName, csar.MetaPath, 0, "leads out",
		},
		{
			"a line that is no key and value", bare(stored(csar.MetaPath, "Entry-Definitions: a\nrubbish\n")),
			csar.BadMetadata, csar.MetaPath, 2, `found "rubbish"`,
		},
		{
			"a key with two values", bare(stored(csar.MetaPath, "Entry-Definitions: a\nEntry-Definitions: b\n")),
			csar.BadMetadata, csar.MetaPath, 2, "twice",
		},
		{
			"TOSCA.meta that is binary", bare(stored(csar.MetaPath, "\xff\xfe\x00")), csar.BadMetadata, csar.MetaPath,
			0,
			"UTF-8",
		},
		{
			"TOSCA.meta with an endless line", bare(stored(csar.MetaPath, "a:"+strings.Repeat("b", 20<<10))),
			csar.BadMetadata, csar.MetaPath, 1, "too long",
		},
		{
			"TOSCA.meta over the limit", bare(stored(csar.MetaPath, strings.Repeat("# comment\n", 7000))),
			csar.TooLarge, csar.MetaPath, 0, "65536 bytes",
		},
		{
			"a listed file that is not there",
			withMeta(block("Name: Scripts/y.sh", "Algorithm: SHA-256", "Hash: "+sum)), csar.MissingFile, "Scripts/y.sh",
			0, "TOSCA.meta:6 lists it",
		},
		{
			"a listed file out of the package", withMeta(block("Name: ../y.sh", "Algorithm: SHA-256", "Hash: "+sum)),
			csar.UnsafeName, csar.MetaPath, 6, "leads out",
		},
		{
			"a file of this machine", withMeta(block("Name: file:///etc/passwd", "Algorithm: SHA-256", "Hash: "+sum)),
			csar.ExternalArtifact, csar.MetaPath, 6, "outside of the package",
		},
		{
			"a wrong checksum", withMeta(block("Name: Scripts/x.sh", "Algorithm: SHA-256", "Hash: "+sha256Of("other"))),
			csar.WrongChecksum, "Scripts/x.sh", 0, "expected SHA-256 " + sha256Of("other") + ", found " + sum,
		},
		{
			"a stale checksum of an image",
			withMeta(block("Name: Files/i.img", "Content-Type: application/x-iso9066-image", "Algorithm: SHA-512",
				"Hash: "+sha512Of("old")), stored("Files/i.img", "new")),
			csar.WrongChecksum, "Files/i.img", 0, "found " + sha512Of("new"),
		},
		{
			"no checksum", withMeta(block("Name: Scripts/x.sh", "Content-Type: application/sh")), csar.MissingChecksum,
			csar.MetaPath, 6, "without Algorithm and Hash",
		},
		{
			"a hash without algorithm", withMeta(block("Name: Scripts/x.sh", "Hash: "+sum)), csar.MissingChecksum,
			csar.MetaPath, 6, "without Algorithm",
		},
		{
			"an unknown algorithm", withMeta(block("Name: Scripts/x.sh", "Algorithm: MD5", "Hash: 00")),
			csar.BadAlgorithm, csar.MetaPath, 6, `"MD5"`,
		},
		{
			"a hash of another algorithm", withMeta(block("Name: Scripts/x.sh", "Algorithm: SHA-512", "Hash: "+sum)),
			csar.BadChecksum, csar.MetaPath, 6, "64 characters, SHA-512 has 128",
		},
		{"a hash that is not hexadecimal", withMeta(block("Name: Scripts/x.sh", "Algorithm: SHA-256", "Hash: "+
			strings.Repeat("g", 64))), csar.BadChecksum, csar.MetaPath, 6, "not hexadecimal"},
		{
			"a file listed twice with different hashes",
			withMeta(block("Name: Scripts/x.sh", "Algorithm: SHA-256", "Hash: "+sum, "", "Name: Scripts/x.sh",
				"Algorithm: sha256", "Hash: "+sha256Of("z"))),
			csar.BadMetadata, csar.MetaPath, 10, "different SHA-256 hashes",
		},
		{"a manifest with a wrong checksum", bare(stored("v.yaml", "a: b\n"), stored(
			"v.mf", "metadata:\n  vnf_product_name: p\n\nSource: v.yaml\nAlgorithm: SHA-256\nHash: "+sum+"\n",
		)), csar.WrongChecksum, "v.yaml", 0, "v.mf:4"},
		{
			"a manifest that lists itself with a hash",
			bare(stored("v.yaml", ""), stored("v.mf", "Source: v.mf\nAlgorithm: SHA-256\nHash: "+sum+"\n")),
			csar.BadChecksum, "v.mf", 1, "lists itself with a hash",
		},
		{
			"a manifest that lists itself with an algorithm",
			bare(stored("v.yaml", ""), stored("v.mf", "Source: v.mf\nAlgorithm: SHA-256\n")),
			csar.BadChecksum, "v.mf", 1, "lists itself with a hash",
		},
		{
			"a manifest that lists itself with a signature",
			bare(stored("v.yaml", ""), stored("v.sig", ""), stored("v.mf", "Source: v.mf\nSignature: v.sig\n")),
			csar.MissingChecksum, "v.mf", 1, "without Algorithm and Hash",
		},
		{
			"a manifest that lists another manifest without checksum",
			bare(stored("v.yaml", ""), stored("w.mf", ""), stored("v.mf", "Source: w.mf\n")),
			csar.MissingChecksum, "v.mf", 1, "w.mf is listed without Algorithm and Hash",
		},
		{
			"a manifest without checksum", bare(stored("v.yaml", "a: b\n"), stored("v.mf", "Source: v.yaml\n")),
			csar.MissingChecksum, "v.mf", 1, "without Algorithm and Hash",
		},
		{
			"a manifest that TOSCA.meta names and that is not there",
			bare(stored(csar.MetaPath, meta+"ETSI-Entry-Manifest: v.mf\n"), stored("Definitions/top.yaml", "")),
			csar.MissingFile, "v.mf", 0, "ETSI-Entry-Manifest",
		},
		{"a manifest of another kind", bare(stored(csar.MetaPath, meta+"ETSI-Entry-Manifest: v.txt\n"),
			stored("Definitions/top.yaml", ""), stored("v.txt", "")), csar.BadMetadata, csar.MetaPath, 0, ".mf"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := verify(t, makeZip(t, tc.entries...), lim)
			requireRejection(t, err, tc.reason, tc.file, tc.detail)
			var r *csar.Rejection
			require.ErrorAs(t, err, &r)
			require.Equal(t, tc.line, r.Line)
		})
	}
}

func TestOpenOfAWrongLayoutGivesAHint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entries []entry
		hint    string
	}{
		"the folder instead of its content": {[]entry{stored("pkg/"+csar.MetaPath, meta)}, "inside the directory pkg"},
		"a wrapped archive": {
			[]entry{stored("vnf.csar", "PK"), stored("vnf.cms", "")}, "upload that file",
		},
	} {
		_, err := openZip(makeZip(t, tc.entries...), csar.DefaultLimits())
		var r *csar.Rejection
		require.ErrorAs(t, err, &r, name)
		require.Contains(t, r.Hint, tc.hint)
	}
}

func TestPackagesAsTheyAreMetInPractice(t *testing.T) {
	t.Parallel()
	sum := sha256Of(script)
	for name, tc := range map[string]struct {
		entries []entry
		want    []csar.Artifact
	}{
		"upper case hash, CRLF, byte order mark, odd key case": {
			[]entry{
				stored(
					csar.MetaPath,
					"\ufeffTOSCA-META-File-version: 1.0\r\nentry-definitions: ./Definitions/top.yaml\r\n\r\n"+
						"NAME: Scripts/x.sh\r\nAlgorithm: Sha_256\r\nHash: "+strings.ToUpper(sum)+"\r\n",
				),
				stored("Definitions/top.yaml", ""), stored("Scripts/x.sh", script),
			},
			[]csar.Artifact{{Path: "Scripts/x.sh", Algorithm: csar.SHA256, Hash: sum, Size: int64(len(script))}},
		},
		"blocks that no empty line divides": {
			withMeta("Name: Scripts/x.sh\nContent-Type: application/sh\nAlgorithm: SHA-256\nHash: " + sum +
				"\nName: Definitions/top.yaml\nAlgorithm: sha512\nHash: " + sha512Of("x: y\n") + "\n"),
			[]csar.Artifact{
				{
					Path: "Scripts/x.sh", ContentType: "application/sh", Algorithm: csar.SHA256, Hash: sum,
					Size: int64(len(script)),
				},
				{Path: "Definitions/top.yaml", Algorithm: csar.SHA512, Hash: sha512Of("x: y\n"), Size: 5},
			},
		},
		"an image without hash": {
			withMeta("\nName: Files/images/u.img\nContent-Type: application/x-iso9066-image\n",
				stored("Files/images/u.img", "img")),
			[]csar.Artifact{{
				Path: "Files/images/u.img", ContentType: "application/x-iso9066-image",
				Algorithm: csar.SHA256, Hash: sha256Of("img"), Size: 3,
			}},
		},
		"directory entries and files of other systems": {
			withMeta("", entry{name: "Scripts/"}, entry{name: "Scripts/"}, entry{name: "UserData/__init__.py"},
				entry{name: "__MACOSX/._x"}),
			nil,
		},
		"names that begin with ./": {
			[]entry{
				stored("./"+csar.MetaPath, strings.Replace(meta, "Definitions/", "./Definitions/",
					1)+"\nName: ./Scripts/x.sh\nAlgorithm: SHA-256\nHash: "+sum+"\n"),
				stored("./Definitions/top.yaml", ""), stored("./Scripts/x.sh", script),
			},
			[]csar.Artifact{{Path: "Scripts/x.sh", Algorithm: csar.SHA256, Hash: sum, Size: int64(len(script))}},
		},
		"manifest instead of TOSCA.meta": {
			[]entry{
				stored("vnfd.yaml", "a: b\n"), stored("Artifacts/install.sh", script),
				stored(
					"vnfd.mf",
					"metadata:\n  vnf_product_name: x\n  compatible_specification_versions: 2.7.1,3.1.1\n\n"+
						"Source: Artifacts/install.sh\nAlgorithm: SHA-256\nHash: "+sum+
						"\n\nnon_mano_artifact_sets:\n  foo_bar:\n    Source: vnfd.yaml\n    Algorithm: SHA-512\n"+
						"    Hash: "+sha512Of("a: b\n")+"\n-----BEGIN CMS-----\nrubbish\n-----END CMS-----\n",
				),
			},
			[]csar.Artifact{
				{Path: "Artifacts/install.sh", Algorithm: csar.SHA256, Hash: sum, Size: int64(len(script))},
				{Path: "vnfd.yaml", Algorithm: csar.SHA512, Hash: sha512Of("a: b\n"), Size: 5, Set: "foo_bar"},
			},
		},
		"a manifest that lists itself": {
			[]entry{
				stored("vnfd.yaml", "a: b\n"),
				stored("vnfd.mf", "Source: ./vnfd.mf\n\nSource: vnfd.yaml\nAlgorithm: SHA-256\nHash: "+
					sha256Of("a: b\n")+"\n"),
			},
			[]csar.Artifact{{Path: "vnfd.yaml", Algorithm: csar.SHA256, Hash: sha256Of("a: b\n"), Size: 5}},
		},
		"TOSCA.meta and manifest both list a file": {
			withMeta("ETSI-Entry-Manifest: top.mf\n\nName: Scripts/x.sh\nAlgorithm: SHA-256\nHash: "+sum+"\n",
				stored("top.mf", "Source: Scripts/x.sh\nAlgorithm: sha-512\nHash: "+sha512Of(script)+"\n")),
			[]csar.Artifact{{Path: "Scripts/x.sh", Algorithm: csar.SHA256, Hash: sum, Size: int64(len(script))}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := openZip(makeZip(t, tc.entries...), csar.DefaultLimits())
			require.NoError(t, err)
			report, err := a.Verify(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, tc.want, report.Artifacts)
			_, err = fs.ReadFile(a.FS(), a.Info().Entry)
			require.NoError(t, err)
		})
	}
}

func TestInfoTellsWhatTheMetadataSay(t *testing.T) {
	t.Parallel()
	a, err := openZip(makeZip(t,
		stored(csar.MetaPath,
			meta+"Other-Definitions: Definitions/df.yaml\nETSI-Entry-Manifest: v.mf\nETSI-Entry-Certificate: v.cert\n"),
		stored("Definitions/top.yaml", ""), stored("Definitions/df.yaml", ""), stored("v.cert", ""),
		stored("v.mf", "metadata:\ncompatible_specification_versions: 3.1.1, 3.3.1\n-----BEGIN CMS-----\n"),
	), csar.DefaultLimits())
	require.NoError(t, err)
	info := a.Info()
	require.Equal(t, "Definitions/top.yaml", info.Entry)
	require.Equal(t, []string{"Definitions/df.yaml"}, info.OtherDefinitions)
	require.Equal(t, "v.mf", info.Manifest)
	require.Equal(t, "v.cert", info.Certificate)
	require.True(t, info.Signed)
	require.True(t, info.HasMeta)
	require.Equal(t, []string{"3.1.1", "3.3.1"}, info.CompatibleVersions)
	require.Equal(
		t, []string{"Definitions/df.yaml", "Definitions/top.yaml", csar.MetaPath, "v.cert", "v.mf"}, a.Names(),
	)
}

func TestAlgorithmSpellings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"SHA-224": csar.SHA224, "sha224": csar.SHA224, "SHA-256": csar.SHA256, "sha256": csar.SHA256,
		"Sha_256": csar.SHA256, "sha-384\t": csar.SHA384, "SHA384": csar.SHA384, "sha512": csar.SHA512,
		"SHA2-512": csar.SHA512, "": "", "md5": "", "SHA-1": "", "sha1": "", "sha-3-256": "", "crc32": "",
	} {
		got, ok := csar.Algorithm(in)
		require.Equal(t, want, got, in)
		require.Equal(t, want != "", ok, in)
	}
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(meta + "\nName: Scripts/x.sh\nAlgorithm: SHA-256\nHash: 00\n"))
	f.Add([]byte("\ufeffEntry-Definitions: a\r\n# b\n\nName:\nname:x\nHash: 1\nHash: 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := csar.ParseMeta(data)
		if err != nil {
			requirePlace(t, err, csar.MetaPath)
			return
		}
		requireListed(t, m.Listed, data)
	})
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(
		"metadata:\n  a: b\n\nSource: x\nAlgorithm: SHA-256\nHash: 00\n\nnon_mano_artifact_sets:\n  s:\n" +
			"    Source: y\n-----BEGIN CMS-----\n",
	))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := csar.ParseManifest(data, "x.mf")
		if err != nil {
			requirePlace(t, err, "x.mf")
			return
		}
		requireListed(t, m.Listed, data)
	})
}

// requirePlace checks that an error tells the author of a package where to look.
func requirePlace(t *testing.T, err error, file string) {
	t.Helper()
	var r *csar.Rejection
	require.ErrorAs(t, err, &r)
	require.Equal(t, file, r.File)
	require.True(t, r.Line > 0 || r.Hint != "", "%+v", r)
	require.LessOrEqual(t, len(r.Detail), 1000, "errors are stored and shown")
	require.True(t, utf8.ValidString(r.Detail))
}

// requireListed checks that each listed file is on a line of its own, in order.
func requireListed(t *testing.T, listed []csar.Listed, data []byte) {
	t.Helper()
	last := 0
	for _, l := range listed {
		require.Greater(t, l.Line, last)
		require.Contains(t, string(data), l.Path)
		last = l.Line
	}
	require.LessOrEqual(t, last, bytes.Count(data, []byte("\n"))+1)
}

// TestMetadataAreUTF8: files of a package have one encoding. The VNFD is checked by package tosca.
func TestMetadataAreUTF8(t *testing.T) {
	t.Parallel()
	for name, encode := range map[string]func(string) string{
		"UTF-16, big endian":    func(s string) string { return utf16Of(s, binary.BigEndian) },
		"UTF-16, little endian": func(s string) string { return utf16Of(s, binary.LittleEndian) },
		"Latin-1":               func(s string) string { return s + "# caf\xe9\n" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := csar.ParseMeta([]byte(encode(meta)))
			requireRejection(t, err, csar.BadMetadata, csar.MetaPath, "not UTF-8 text")
			_, err = csar.ParseManifest([]byte(encode("metadata:\n")), "x.mf")
			requireRejection(t, err, csar.BadMetadata, "x.mf", "not UTF-8 text")
		})
	}
	m, err := csar.ParseMeta([]byte("\ufeff" + meta))
	require.NoError(t, err, "UTF-8 with a byte order mark")
	require.Equal(t, "Definitions/top.yaml", m.EntryDefinitions)
}

// utf16Of encodes a text with a byte order mark.
func utf16Of(s string, order binary.AppendByteOrder) string {
	var out []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

// A file on another server is not read: the package is used without it.
func TestFilesOnOtherServersAreNotRead(t *testing.T) {
	t.Parallel()
	a, err := openZip(makeZip(t, withMeta("\nName: https://ann:s3cret@10.0.0.1/y.sh\nAlgorithm: SHA-256\nHash: "+
		sha256Of("y")+"\n\nName: http://10.0.0.1/z.img\n")...), csar.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, []csar.External{
		{
			URL: "https://10.0.0.1/y.sh", Algorithm: csar.SHA256, Hash: sha256Of("y"), File: csar.MetaPath, Line: 6,
		},
		{URL: "http://10.0.0.1/z.img", File: csar.MetaPath, Line: 10},
	}, a.Info().External)
	require.Contains(t, a.Info().External[0].Error(), "TOSCA.meta:6: the artifact https://10.0.0.1/y.sh is outside")
	report, err := a.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(
		report.Artifacts, func(r csar.Artifact) bool { return strings.Contains(r.Path, "10.0.0.1") },
	))
}
