package csar

// Limits limit the work for an archive. Sizes are counted bytes, not those that headers claim.
type Limits struct {
	// Entries is the number of files and directories.
	Entries int
	// TotalBytes is the size of all files together, FileBytes that of one.
	TotalBytes int64
	FileBytes  int64
	// TextBytes is the size of one file that is parsed: TOSCA.meta, manifest, VNFD.
	TextBytes int64
	// Ratio is the highest ratio of decompressed to compressed size of a file, or the whole archive. It is checked
	// after RatioFrom bytes.
	Ratio     int64
	RatioFrom int64
	// Depth is the number of directories above a file, NameBytes the length of its path.
	Depth     int
	NameBytes int
}

// DefaultLimits returns limits for packages with disk images.
func DefaultLimits() Limits {
	return Limits{
		Entries:    50_000,
		TotalBytes: 10 << 30,
		FileBytes:  10 << 30,
		TextBytes:  4 << 20,
		Ratio:      100,
		RatioFrom:  100 << 20,
		Depth:      32,
		NameBytes:  1024,
	}
}

// directoryBytes bounds the zip directory that archive/zip loads into memory: a fixed header and a name of ordinary
// length for each entry allowed.
func (l Limits) directoryBytes() int64 { return 1<<20 + int64(l.Entries)*200 }
