package web

import (
	"strings"
)

// drawing is a topology as shapes: virtual links are rails that run down on the left, VNFCs are cards on the right,
// and every connection point is a line from its rail to its card. It grows downwards only, so that it stays legible
// with any number of VNFCs. Units are pixels at its natural size.
type drawing struct {
	Width, Height int
	Rails         []rail
	Boxes         []box
	Cards         []card
	Cables        []cable
}

type rail struct {
	N, X, Top, Bottom int
	External          bool
	Label             string
	Title             string
}

// box is a frame around cards that belong together.
type box struct {
	X, Y, W, H int
	Label      string
	TextY      int
}

type card struct {
	X, Y, W, H       int
	Name, Title, Sub string
	NameY, SubY      int
	State            string // "" for what has none
	StateX           int
	Rows             []cardRow
	RowX             int
}

// cardRow is an address line of a card.
type cardRow struct {
	Y         int
	Text, Dim string
}

// cable goes from a rail to a card.
type cable struct {
	N, X1, X2, Y int
}

const (
	railGap, railLabel     = 26, 20
	margin, pad            = 12, 12
	cardWidth, cardGap     = 780, 8
	rowHeight, boxHeading  = 20, 26
	nameChars, subChars    = 26, 36
	addressChars, cpdChars = 40, 22
)

// draw lays a topology out.
func draw(t *topology) *drawing {
	n := len(t.Links)
	x := margin + n*railGap + 24
	d := &drawing{Width: x + cardWidth + 2*pad + margin}
	y := margin + n*railLabel + 8
	if len(t.Shared) > 0 {
		y = d.box("Whole VNF", x, y, func(y int) int {
			c := card{Name: "Shared addresses"}
			return d.card(c, t.Shared, nil, x+pad, y)
		})
	}
	for _, g := range t.Groups {
		y = d.box(g.VDU+" · "+plural(len(g.VNFCs), "VNFC", "VNFCs"), x, y, func(y int) int {
			for k, v := range g.VNFCs {
				if k > 0 {
					y += cardGap
				}
				c := card{
					Name: cut(v.Name, nameChars), Title: v.ID, Sub: cut(v.Place(), subChars), State: string(v.State),
				}
				y = d.card(c, v.Ports, v.Floating, x+pad, y)
			}
			return y
		})
	}
	d.Height = y
	for k, l := range t.Links {
		d.Rails = append(d.Rails, rail{
			N: k % 6, X: margin + k*railGap + 6, Top: margin + k*railLabel, Bottom: d.Height - margin,
			External: l.External, Label: cut(l.Name, 60) + " · " + l.Word(), Title: l.Network,
		})
	}
	return d
}

// box draws a frame with what inside draws; it returns where to go on.
func (d *drawing) box(label string, x, y int, inside func(y int) int) int {
	end := inside(y+boxHeading) + pad
	d.Boxes = append(d.Boxes, box{X: x, Y: y, W: cardWidth + 2*pad, H: end - y, Label: cut(label, 70), TextY: y + 18})
	return end + margin
}

// card draws a card with a row for every port; it returns where it ends.
func (d *drawing) card(c card, ports []port, floating []string, x, y int) int {
	rows := max(len(ports), 2)
	c.X, c.Y, c.W, c.H = x, y, cardWidth, rows*rowHeight+pad
	c.NameY, c.SubY = y+pad/2+14, y+pad/2+rowHeight+14
	c.StateX, c.RowX = x+cardWidth-104, x+250
	if c.Sub == "" {
		c.NameY = y + c.H/2 + 5
	}
	top := y + pad/2 + (rows-len(ports))*rowHeight/2
	for k, p := range ports {
		middle := top + k*rowHeight + rowHeight/2
		text := strings.Join(p.IPs, ", ")
		if text == "" {
			text = "no address yet"
		}
		switch {
		case p.Floating:
			text += " (floating)"
		case k == 0 && len(floating) > 0:
			text += " ⇄ " + strings.Join(floating, ", ")
		}
		text = cut(text, addressChars)
		c.Rows = append(c.Rows, cardRow{Y: middle + 4, Text: text, Dim: cut(p.Name, cpdChars)})
		if p.Link >= 0 {
			d.Cables = append(d.Cables, cable{N: p.Link % 6, X1: margin + p.Link*railGap + 6, X2: x, Y: middle})
		}
	}
	d.Cards = append(d.Cards, c)
	return y + c.H
}
