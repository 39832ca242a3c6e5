package csar

// Limits bound what an archive may make us do. Sizes are bytes as counted, never as headers claim.
type Limits struct {
	// Entries is the number of files and directories.
	Entries int
	// TotalBytes is the size of all files together, FileBytes that of one.
	TotalBytes int64
	FileBytes  int64
	// TextBytes is the size of one file that is parsed: TOSCA.meta, manifest, VNFD.
	TextBytes int64
	// Ratio is how many times its compressed size a file, or the whole archive, may have; it is looked at once
	// RatioFrom bytes have come out.
	Ratio     int64
	RatioFrom int64
	// Depth is the number of directories above a file, NameBytes the length of its path.
	Depth     int
	NameBytes int
}

// DefaultLimits suit packages that carry disk images.
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
