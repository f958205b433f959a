package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// How much of everything there is.
const (
	employees   = 1046
	leftEarly   = 37  // before 2019
	leftLater   = 151 // since
	managers    = 60  // the first ones; they stay
	customers   = 600
	orders      = 20_000
	orderNotes  = 1500
	perCategory = 20 // products
)

// A company makes up the rows. Its random numbers begin the same each time.
type company struct {
	w      *writer
	random *rand.Rand
	people *people

	customers []customer
	products  []product
	notable   []noted // orders that may get a note
}

type customer struct {
	id      int
	created date
}

type product struct {
	id       int
	price    fen
	quantity int // at most, of an order
}

type noted struct {
	id      int
	ordered date
}

func newCompany(w *writer) *company {
	random := rand.New(rand.NewPCG(2019, 37)) //nolint:gosec // the rows are meant to be the same each time
	return &company{w: w, random: random, people: newPeople(random)}
}

func (c *company) write(ctx context.Context) error {
	for _, part := range []func(){
		c.writeDepartments, c.writeStaff, c.writeCustomers, c.writeProducts, c.writeOrders, c.writeNotes,
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		part()
	}
	return c.w.close()
}

// between returns a random number from low to high.
func (c *company) between(low, high int) int { return low + c.random.IntN(high-low+1) }

// chance is true in percent of all cases.
func (c *company) chance(percent int) bool { return c.random.IntN(100) < percent }

// dateBetween returns a random day from low to high.
func (c *company) dateBetween(low, high date) date {
	return day(c.between(low.number(), high.number()))
}

// today is the last day in the database.
func today() date { return on(2025, time.June, 30) }

func pick[T any](c *company, list []T) T { return list[c.random.IntN(len(list))] }

func (c *company) writeDepartments() {
	c.w.into("departments", 7)
	for i, d := range departments() {
		city := cities()[i%6]
		c.w.row(i+1, d.name, d.nameZH, city.name, city.nameZH, fen(c.between(2_000, 20_000)*100_000), on(2010+i%4, time.March, 1+i))
	}
}

// An employee is what salaries and reviews are made of.
type employee struct {
	id, department int
	joined, left   date
	pay            fen
}

func (c *company) writeStaff() {
	staff := make([]employee, employees)
	leaving := c.leaving()
	c.w.into("employees", 13)
	for i := range staff {
		e := employee{id: i + 1, department: i%len(departments()) + 1, left: leaving[i]}
		if i > managers {
			e.department = c.between(1, len(departments()))
		}
		e.joined = c.joined(e)
		staff[i] = c.writeEmployee(e)
	}
	c.writeSalaries(staff)
	c.writeReviews(staff)
}

// leaving says when each employee left, by index. Two left on the days on both
// sides of the new year's night that people ask about.
func (c *company) leaving() map[int]date {
	left := make(map[int]date, leftEarly+leftLater)
	newYear := on(2019, time.January, 1)
	for n, i := range c.random.Perm(employees - managers)[:leftEarly+leftLater] {
		switch {
		case n == 0:
			left[managers+i] = day(newYear.number() - 1)
		case n == leftEarly:
			left[managers+i] = newYear
		case n < leftEarly:
			left[managers+i] = c.dateBetween(on(2015, time.February, 1), on(2018, time.December, 31))
		default:
			left[managers+i] = c.dateBetween(newYear, today())
		}
	}
	return left
}

func (c *company) joined(e employee) date {
	switch {
	case e.id <= managers:
		return c.dateBetween(on(2010, time.March, 1), on(2017, time.December, 31))
	case e.left != date{}:
		return c.dateBetween(on(2010, time.June, 1), day(e.left.number()-90))
	}
	return c.dateBetween(on(2011, time.January, 1), on(2025, time.May, 31))
}

func (c *company) writeEmployee(e employee) employee {
	level := 0 // 0 heads a department, 1 a team, 2 nobody
	manager := any(nil)
	switch n := len(departments()); {
	case e.id > managers:
		level = 2
		manager = e.department + n*c.between(1, managers/n-1)
	case e.id > n:
		level = 1
		manager = e.department
	}
	name, nameZH := c.people.next()
	city := pick(c, cities()[:10])
	status := "active"
	if e.left != (date{}) {
		status = "left"
	}
	title := c.title(e.department, level)
	e.pay = fen([]int{52_000, 31_000, 14_000}[level]*100 + c.between(-40, 90)*10_000)
	email := strings.ToLower(strings.ReplaceAll(name, " ", ".")) + fmt.Sprintf("%d@example.com", e.id)
	c.w.row(e.id, name, optional(nameZH), email, e.department, manager, title, city.name, city.nameZH, status, e.joined, e.left, c.profile(nameZH))
	return e
}

func (c *company) title(department, level int) string {
	d := departments()[department-1]
	switch level {
	case 0:
		return "Head of " + d.name
	case 1:
		return d.name + " Manager"
	}
	return pick(c, d.titles)
}

func (c *company) profile(nameZH string) string {
	languages := `"en"`
	if nameZH != "" {
		languages = pick(c, []string{`"zh"`, `"zh","en"`, `"zh","en","ja"`})
	}
	first := c.random.IntN(len(skills()) - 2)
	return fmt.Sprintf(`{"languages":[%s],"remote":%t,"skills":["%s","%s"]}`,
		languages, c.chance(25), skills()[first], skills()[first+1+c.random.IntN(2)])
}

// writeSalaries gives everybody a raise every year or two.
func (c *company) writeSalaries(staff []employee) {
	c.w.into("salaries", 6)
	id := 0
	for _, e := range staff {
		end := today()
		if e.left != (date{}) {
			end = e.left
		}
		pay := e.pay
		for from := e.joined; ; {
			next := day(from.number() + c.between(300, 800))
			last := !next.before(end)
			to := day(next.number() - 1)
			if last {
				to = e.left
			}
			id++
			c.w.row(id, e.id, pay, "CNY", from, to)
			if last {
				break
			}
			from, pay = next, pay+pay*fen(c.between(2, 12))/100/100*100
		}
	}
}

func (c *company) writeReviews(staff []employee) {
	c.w.into("reviews", 5)
	id := 0
	for _, e := range staff {
		last := 2024
		if e.left != (date{}) {
			last = e.left.year() - 1
		}
		for year := e.joined.year() + 1; year <= last; year++ {
			id++
			comment := optional("")
			if c.chance(35) {
				comment = optional(pick(c, comments()))
			}
			c.w.row(id, e.id, year, float64(c.between(20, 50))/10, comment)
		}
	}
}
