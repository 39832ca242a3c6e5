package cms

import (
	"encoding/binary"
	"errors"
)

// maxDepth bounds the nesting of a signature. Real ones have less than 15 levels.
const maxDepth = 32

var errEncoding = errors.New("the signature is damaged: its encoding is neither DER nor BER")

// toDER returns one BER element with all lengths in their definite form. Anything else that DER does not allow stays
// and is rejected when it is parsed.
func toDER(ber []byte) ([]byte, error) {
	der, rest, err := convert(ber, 0)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, errors.New("the signature is followed by other data")
	}
	return der, nil
}

// convert converts the first element of ber and returns the bytes after it.
func convert(ber []byte, depth int) (der, rest []byte, err error) {
	const (
		constructed = 0x20
		indefinite  = 0x80
	)
	if depth > maxDepth || len(ber) < 2 || ber[0]&0x1f == 0x1f { // tags above 30 do not occur in signatures
		return nil, nil, errEncoding
	}
	tag, length := ber[0], ber[1]
	if length == indefinite && tag&constructed != 0 {
		body, rest, err := convertAll(ber[2:], depth+1, true)
		return encode(tag, body), rest, err
	}
	size, head := int(length), 2
	if length >= indefinite {
		more := int(length & 0x7f)
		if more == 0 || more > 4 || len(ber) < 2+more {
			return nil, nil, errEncoding
		}
		var wide [8]byte
		copy(wide[8-more:], ber[2:2+more])
		size, head = int(binary.BigEndian.Uint64(wide[:])), 2+more
	}
	if size > len(ber)-head {
		return nil, nil, errors.New("the signature is damaged: it ends early")
	}
	body := ber[head : head+size]
	if tag&constructed == 0 {
		return ber[:head+size], ber[head+size:], nil
	}
	body, _, err = convertAll(body, depth+1, false)
	return encode(tag, body), ber[head+size:], err
}

// convertAll converts elements to the end of ber, or to the end-of-contents mark.
func convertAll(ber []byte, depth int, toMark bool) (der, rest []byte, err error) {
	for len(ber) > 0 {
		if toMark && len(ber) >= 2 && ber[0] == 0 && ber[1] == 0 {
			return der, ber[2:], nil
		}
		var one []byte
		if one, ber, err = convert(ber, depth); err != nil {
			return nil, nil, err
		}
		der = append(der, one...)
	}
	if toMark {
		return nil, nil, errors.New("the signature is damaged: it ends early")
	}
	return der, nil, nil
}

// encode writes an element with the shortest length that is possible.
func encode(tag byte, body []byte) []byte {
	n := len(body)
	out := []byte{tag}
	if n < 0x80 {
		return append(append(out, byte(n)), body...)
	}
	wide := binary.BigEndian.AppendUint64(nil, uint64(n))
	for wide[0] == 0 {
		wide = wide[1:]
	}
	out = append(out, 0x80|byte(len(wide)))
	return append(append(out, wide...), body...)
}
