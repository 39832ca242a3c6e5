package csar

import "strconv"

// Reason is the kind of defect that a package was rejected for. The values are stable; tests and clients may
// compare them.
type Reason string

// The reasons of a Rejection.
const (
	NotZip           Reason = "not_a_zip"          // the content is not a zip archive
	Corrupt          Reason = "corrupt"            // the zip archive is damaged
	UnsafeName       Reason = "unsafe_name"        // a path leads out of the package or is not portable
	NotRegular       Reason = "not_a_regular_file" // a symbolic link, device or similar
	Duplicate        Reason = "duplicate_name"     // two entries for one file
	Encrypted        Reason = "encrypted"          // an entry that needs a password
	BadCompression   Reason = "bad_compression"    // a compression method other than none and deflate
	TooManyEntries   Reason = "too_many_entries"   // Limits.Entries
	TooLarge         Reason = "too_large"          // Limits.TotalBytes, FileBytes or TextBytes
	Bomb             Reason = "decompression_bomb" // Limits.Ratio, or entries that share their bytes
	BadMetadata      Reason = "bad_metadata"       // TOSCA.meta or the manifest cannot be read
	NoDefinitions    Reason = "no_definitions"     // the metadata does not name the VNFD
	MissingFile      Reason = "missing_file"       // the metadata names a file that does not exist
	MissingChecksum  Reason = "missing_checksum"   // a file is listed without its hash
	BadAlgorithm     Reason = "bad_algorithm"      // a hash algorithm that is unknown or too weak
	BadChecksum      Reason = "bad_checksum"       // a hash that is not valid for its algorithm
	WrongChecksum    Reason = "wrong_checksum"     // the hash of a file differs
	ExternalArtifact Reason = "external_artifact"  // a file outside of the package
	Untrusted        Reason = "untrusted"          // the signature is missing, damaged or not trusted
)

// Rejection is the reason why a package is not accepted. Its text is for the author of the package.
type Rejection struct {
	Reason Reason
	// File is the path in the package that the defect is in, "" for the archive as a whole.
	File string
	// Line is the line in File, 0 when it has none.
	Line int
	// Detail describes the defect, with the expected and the found value.
	Detail string
	// Hint says how to correct it; it may be empty.
	Hint string
}

// Error is the place and the detail, without the hint.
func (r *Rejection) Error() string {
	if r.File == "" {
		return r.Detail
	}
	return place(r.File, r.Line) + ": " + r.Detail
}

func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

func reject(reason Reason, file, detail, hint string) *Rejection {
	return &Rejection{Reason: reason, File: printable(file), Detail: detail, Hint: hint}
}
