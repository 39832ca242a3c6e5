package store

import (
	"bytes"
	"slices"
)

// page holds the documents of a list and their bytes. Pages are used again, because the garbage of lists would be most
// of what a node that is polled collects.
type page[D any] struct {
	docs   []D
	blocks [][]byte
	filled int // blocks that have no room
	// rows were read, the last one has the id last, and their details as stored have so many bytes.
	rows, stored int
	last         string
	// single gives every text memory of its own, which outlives the page.
	single bool
}

const (
	// pageBlock is the size of a block of a page.
	pageBlock = 64 << 10
	// keptBlocks is how many blocks of a page are used again.
	keptBlocks = 16
	// keptDocuments is how many documents of a page are used again.
	keptDocuments = 1024
)

// keep copies a text into the page; nil stays nil.
func (p *page[D]) keep(text []byte) []byte {
	if p.single || len(text) > pageBlock || text == nil {
		return bytes.Clone(text)
	}
	for p.filled < len(p.blocks) && pageBlock-len(p.blocks[p.filled]) < len(text) {
		p.filled++
	}
	if p.filled == len(p.blocks) {
		p.blocks = append(p.blocks, make([]byte, 0, pageBlock))
	}
	b := p.blocks[p.filled]
	start := len(b)
	b = append(b, text...)
	p.blocks[p.filled] = b
	return b[start:len(b):len(b)]
}

// reset empties the page.
func (p *page[D]) reset() {
	clear(p.docs)
	p.docs = p.docs[:0]
	if cap(p.docs) > keptDocuments {
		p.docs = nil
	}
	if len(p.blocks) > keptBlocks {
		p.blocks = slices.Clone(p.blocks[:keptBlocks])
	}
	for n, b := range p.blocks {
		p.blocks[n] = b[:0]
	}
	p.filled = 0
}

// repeated scans a text of which many rows have the same value: it makes a string only of a value that differs from
// that of the row before.
type repeated[S ~string] struct{ to *S }

// ScanBytes implements pgtype.BytesScanner. NULL is "".
func (r *repeated[S]) ScanBytes(text []byte) error {
	if string(*r.to) != string(text) {
		*r.to = S(text)
	}
	return nil
}
