package demo

import (
	"fmt"
	"time"
)

func (c *company) writeCustomers() {
	c.w.into("customers", 10)
	created := on(2018, time.January, 2).number()
	span := on(2025, time.March, 31).number() - created
	for i := range customers {
		// The later, the more of them; the first ones are there before any order.
		at := day(created + span*i*(customers-i/2)/(customers*(customers+1)/2+customers))
		if i < 30 {
			at = day(created + 10*i)
		}
		c.customers = append(c.customers, customer{i + 1, at})
		city := pick(c, cities())
		segment := pick(c, []string{"consumer", "consumer", "business", "business", "public"})
		name, nameZH := c.customerName(segment, city)
		email := optional("")
		if c.chance(85) {
			email = optional(fmt.Sprintf("customer%d@example.net", i+1))
		}
		c.w.row(i+1, name, optional(nameZH), city.name, city.nameZH, city.country, segment, email, at, c.preferences(nameZH))
	}
}

func (c *company) customerName(segment string, city city) (name, nameZH string) {
	switch segment {
	case "business":
		first, last := pick(c, firms()), pick(c, trades())
		return first.name + " " + last.name, first.nameZH + last.nameZH
	case "public":
		office := pick(c, offices())
		return city.name + " " + office.name, city.nameZH + office.nameZH
	}
	return c.people.next()
}

func (c *company) preferences(nameZH string) optional {
	if c.chance(30) {
		return ""
	}
	language := "en"
	if nameZH != "" {
		language = "zh"
	}
	return optional(fmt.Sprintf(`{"newsletter":%t,"language":"%s"}`, c.chance(60), language))
}

func (c *company) writeProducts() {
	c.w.into("products", 10)
	for _, category := range categories() {
		for i := range perCategory {
			id := len(c.products) + 1
			color, thing := colors()[(id*7+i)%len(colors())], category.things[i%len(category.things)]
			model := 100 + i*5
			price := fen(c.between(category.low, category.high)*100 - c.between(1, 2)*5)
			c.products = append(c.products, product{id, price, category.quantity})
			c.w.row(id, fmt.Sprintf("%s-%04d", category.code, id),
				fmt.Sprintf("%s %d", thing.name, model), fmt.Sprintf("%s %d", thing.nameZH, model),
				category.name, price, fmt.Sprintf("%d.%03d", c.between(0, category.kilos), c.between(10, 999)),
				c.between(0, 900), boolean(c.chance(8)),
				fmt.Sprintf(`{"color":"%s","color_zh":"%s","warranty_months":%d}`, color.name, color.nameZH, 12*c.between(0, 3)))
		}
	}
}

func boolean(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// An item is a line of an order.
type item struct {
	product, quantity int
	price             fen
}

func (c *company) writeOrders() {
	items := make([][]item, orders)
	c.w.into("orders", 7)
	known := 0
	for i := range orders {
		ordered := c.orderDate(i)
		for known < len(c.customers) && !ordered.before(c.customers[known].created) {
			known++
		}
		var total fen
		items[i], total = c.items()
		status := c.status(ordered)
		coupon := optional("")
		if c.chance(12) {
			coupon = optional(pick(c, []string{"WELCOME10", "SPRING", "双十一", "LOYAL5"}))
		}
		at := fmt.Sprintf("%s %02d:%02d:%02d", value(ordered), c.between(7, 22), c.between(0, 59), c.between(0, 59))
		c.w.row(i+1, c.customers[c.random.IntN(known)].id, at, status, total, c.shipped(ordered, status), coupon)
		c.notable = append(c.notable, noted{i + 1, ordered})
	}
	c.w.into("order_items", 4)
	for i, list := range items {
		for _, it := range list {
			c.w.row(i+1, it.product, it.quantity, it.price)
		}
	}
}

// orderDate returns the day of the order i of all: trade grows with the years.
func (c *company) orderDate(i int) date {
	first, last := on(2019, time.January, 1).number(), today().number()
	share := float64(i) / orders
	return day(first + int(float64(last-first+1)*(1.5*share-0.5*share*share)))
}

func (c *company) items() (list []item, total fen) {
	start := c.random.IntN(len(c.products))
	for range c.between(1, 4) {
		p := c.products[start]
		it := item{p.id, c.between(1, p.quantity), p.price * fen(c.between(90, 105)) / 100}
		list = append(list, it)
		total += it.price * fen(it.quantity)
		start = (start + c.between(1, 25)) % len(c.products) // never the same twice
	}
	return list, total
}

func (c *company) status(ordered date) string {
	if ordered.number() > today().number()-21 {
		return pick(c, []string{"new", "paid", "paid", "shipped", "shipped", "cancelled"})
	}
	switch n := c.random.IntN(100); {
	case n < 7:
		return "cancelled"
	case n < 11:
		return "refunded"
	}
	return "completed"
}

// shipped returns the day on which an order went out, if it did.
func (c *company) shipped(ordered date, status string) date {
	switch status {
	case "shipped", "completed", "refunded":
		return day(min(ordered.number()+c.between(0, 6), today().number()))
	}
	return date{}
}

func (c *company) writeNotes() {
	c.w.into("订单备注", 6)
	step := orders / orderNotes
	for i := range orderNotes {
		o := c.notable[i*step+c.random.IntN(step)]
		author := optional("")
		if c.chance(80) {
			_, nameZH := c.people.next()
			author = optional(nameZH)
		}
		c.w.row(i+1, o.id, pick(c, notes()), author, o.ordered, boolean(c.chance(15)))
	}
}
